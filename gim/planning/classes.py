"""Where a chain, or an MDP, can stay for ever: recurrent classes and end components.

A *recurrent class* of a chain is a set of states that lead to each other and nowhere else. An *end
component* of an MDP is the same with choices: states, and some pairs of each, such that those pairs
lead from any of the states to any other and never out (de Alfaro 1997). Whatever is done, an
episode without end stays, from some step on, within one maximal end component; there the best
long-run average is the same from every state. With a single maximal one an MDP is weakly
communicating, with several it is multichain (Puterman 1994, 8.3).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from gim.planning.linear import flat
from gim.planning.types import Bools, Dynamics, Ints

NONE = -1  # of a state that belongs to none


class EndComponents(NamedTuple):
    """The maximal end components of an MDP."""

    number: int
    label: Ints  # [S] which one a state is in; NONE where it cannot stay
    within: Bools  # [S, A] the pairs that lead nowhere else


def end_components(mdp: Dynamics) -> EndComponents:
    """The maximal end components: pairs that leave their strong component go, until none does.

    Example:
        >>> import gim
        >>> end_components(gim.make("riverswim")).number
        1
    """
    S, A = mdp.S, mdp.A
    P = sparse.csr_array(flat(mdp))
    pair = np.repeat(np.arange(S * A), np.diff(P.indptr))[P.data > 0]
    source, target = pair // A, P.indices[P.data > 0]
    within: Bools = np.array(mdp.available, np.bool_).reshape(-1)
    while True:
        kept = within[pair]
        graph = sparse.csr_array(
            (np.ones(kept.sum(), np.int8), (source[kept], target[kept])), shape=(S, S)
        )
        _, part = connected_components(graph, connection="strong")
        leaves = kept & (part[source] != part[target])
        if not leaves.any():
            break
        within[pair[leaves]] = False
    can_stay = within.reshape(S, A).any(axis=1)
    label = np.full(S, NONE, np.int64)
    parts, label[can_stay] = np.unique(part[can_stay], return_inverse=True)
    return EndComponents(parts.size, label, within.reshape(S, A))


def recurrent_classes(P: Any) -> tuple[int, Ints]:
    """How many recurrent classes a chain P [S, S] has, and which one each state is in, [S].

    Example:
        >>> number, label = recurrent_classes(np.array([[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]]))
        >>> number, label.tolist()
        (2, [-1, 0, 1])
    """
    graph = sparse.coo_array(P)
    source, target = graph.row[graph.data > 0], graph.col[graph.data > 0]
    links = sparse.csr_array((np.ones(source.size, np.int8), (source, target)), shape=graph.shape)
    number, part = connected_components(links, connection="strong")
    closed = np.ones(number, bool)
    closed[part[source[part[source] != part[target]]]] = False
    return int(closed.sum()), np.where(closed, np.cumsum(closed) - 1, NONE)[part]
