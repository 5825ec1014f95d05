"""A finite Markov decision process, its exact facts, and its ways in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from gim import planning
from gim._base import files, html
from gim._base.arguments import whole
from gim._base.limits import INT
from gim.mdp import tables, validation
from gim.mdp.distribution import Distribution, distribution
from gim.mdp.names import Names, labels_of, plain
from gim.mdp.policy.alignment import GivenPolicy, Place, as_array, goes_by_name
from gim.mdp.sampling import AliasTables, make_world
from gim.mdp.sparse_tables import from_parts
from gim.mdp.variables import Variables, variables_of
from gim.mdp.why import Why, explain
from gim.planning.checks import checked_policy, checked_weight
from gim.planning.criterion import Criterion

if TYPE_CHECKING:
    from gim.mdp.gymnasium_env import TabularEnv

Floats = NDArray[np.float64]


class Options(TypedDict, total=False):
    """What `from_step` hands on to a `TabularMDP`, besides what it makes itself."""

    horizon: int
    discount: float | None
    noise: float | ArrayLike
    state_labels: Sequence[Any] | None
    action_labels: Sequence[Any] | None
    variables: Any
    action_variables: Any
    name: str
    info: Mapping[str, Any] | None


DESCRIPTIONS = ("variables", "action_variables")  # what states and actions are made of


class TabularMDP:
    """A finite MDP <S, A, p(.|.,.), r(.,.), mu> with horizon H, checked on entry.

    Args:
        transitions: p(s'|s,a), dense [S, A, S], or sparse, S*A rows (s*A + a) by S.
        rewards: r(s,a) [S, A], or by next state [S, A, S] (or sparse, on the pattern of P).
        start: the first state of every episode, or its distribution [S].
        horizon: H, the number of steps of an episode.
        discount: what planners use when asked for a discounted plan; returns are never discounted.
        terminal: states (indices or a mask) that end an episode: absorbing, reward 0.
        available: [S, A] bool; a pair that is not available exists for no one.
        noise: standard deviation of a Gaussian on each reward, a number or [S, A].
        state_labels, action_labels: what states and actions are called: texts, numbers, tuples.
        variables: what states are made of (see `gim.Variables`): a mapping of names to values [S],
            an array [S, k], or `Variables`; "auto" takes them from labels that are tuples or
            numbers, None withholds them.
        action_variables: the same for actions, [A, k].
        axes: "SAS", or "ASS" when the arrays come as [A, S, S].
        name: what the task is called in tables.
        info: further facts worth keeping with it; saved as JSON.

    Example:
        >>> import numpy as np
        >>> P = np.array([[[0.9, 0.1], [0.2, 0.8]], [[1.0, 0.0], [0.0, 1.0]]])
        >>> mdp = TabularMDP(P, rewards=[[0, 0], [0, 1]], horizon=10)
        >>> round(mdp.optimal_return(), 3)
        8.75
    """

    def __init__(
        self,
        transitions: Any,
        rewards: Any,
        start: int | ArrayLike = 0,
        horizon: int = 20,
        *,
        discount: float | None = None,
        terminal: ArrayLike = (),
        available: ArrayLike | None = None,
        noise: float | ArrayLike = 0.0,
        state_labels: Sequence[Any] | None = None,
        action_labels: Sequence[Any] | None = None,
        variables: Any = "auto",
        action_variables: Any = "auto",
        axes: str = "SAS",
        name: str = "mdp",
        info: Mapping[str, Any] | None = None,
    ) -> None:
        P, S, A = validation.transitions_of(transitions, axes)
        r, by_next = validation.rewards_of(rewards, axes, S, A)
        self.S, self.A = S, A
        self.horizon = whole("horizon", horizon, low=1, high=INT)
        self.discount = None if discount is None else checked_weight(discount)
        self.terminal = validation.flags_of("terminal", terminal, S)  # [S]
        self.available = validation.available_of(available, self.terminal, A)  # [S, A]
        self.start = validation.start_of(start, S)  # [S]
        if (self.start[self.terminal] > 0).any():
            s = np.flatnonzero(self.terminal & (self.start > 0))[0]
            raise ValueError(f"state {s} is terminal but an episode may start there")
        self.transitions = tables.absorbing(P, self.terminal, self.available)
        validation.check_rows(self.transitions, self.available)
        for table in (r, by_next):
            if table is not None:
                validation.check_finite("rewards", table)
        self.rewards_next = None  # or rewards by next state, in the form of the transitions
        if by_next is not None:
            self.rewards_next = tables.payments(by_next, self.transitions, self.terminal)
        self.rewards = self._expected(r)  # [S, A], the expectation r(s,a)
        self.noise = validation.noise_of(noise, S, A)  # [S, A] or None
        self.state_labels = labels_of("state_labels", state_labels, S)
        self.action_labels = labels_of("action_labels", action_labels, A)
        self.variables = variables_of("state", variables, state_labels, S)
        self.action_variables = variables_of("action", action_variables, action_labels, A)
        self.name = name
        if not isinstance(info, (Mapping, type(None))):
            raise ValueError(f"info is a {type(info).__name__}: give a mapping of names to facts")
        self.info = dict(info or {})

    def _expected(self, r: Floats | None) -> Floats:
        if r is None:
            P, paid = self.transitions, self.rewards_next
            r = tables.expected_payments(paid, P, self.S, self.A)
        elif (wrong := self.terminal[:, None] & (r != 0)).any():
            s, a = np.argwhere(wrong)[0]
            raise ValueError(
                f"rewards[{s}, {a}] = {r[s, a]:g} but state {s} is terminal: it pays 0"
            )
        return np.where(self.available, r, 0.0)

    # -- what it is

    @property
    def sparse(self) -> bool:
        """Whether transitions are stored as CSR."""
        return bool(sparse.issparse(self.transitions))

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the largest r(s,a) over the pairs that can be played."""
        playable = self.rewards[self.available & ~self.terminal[:, None]]
        return (float(playable.min()), float(playable.max())) if playable.size else (0.0, 0.0)

    def rows(self) -> Any:
        """Transitions as CSR of S*A rows, whatever the storage."""
        if self.sparse:
            return self.transitions
        return sparse.csr_array(self.transitions.reshape(self.S * self.A, self.S))

    def paid(self) -> Floats:
        """What each entry of `rows` pays, in their order."""
        rows = self.rows()
        if self.rewards_next is None:
            return np.repeat(self.rewards.ravel(), np.diff(rows.indptr))
        if self.sparse:
            return np.asarray(self.rewards_next.data)
        pair = np.repeat(np.arange(self.S * self.A), np.diff(rows.indptr))
        return np.asarray(self.rewards_next.reshape(rows.shape)[pair, rows.indices])

    @cached_property
    def world(self) -> AliasTables:
        """Alias tables for the compiled loop, built once."""
        return make_world(self)

    def to_sparse(self) -> TabularMDP:
        """The same MDP stored as CSR."""
        return self.with_(transitions=self.rows())

    def to_dense(self) -> TabularMDP:
        """The same MDP stored as [S, A, S]."""
        shape = (self.S, self.A, self.S)
        P = self.transitions.toarray().reshape(shape) if self.sparse else self.transitions
        return self.with_(transitions=P)

    def with_(self, **changes: Any) -> TabularMDP:
        """A copy in which some arguments of the constructor are replaced."""
        return type(self)(**(self._arguments() | changes))

    def state_label(self, s: int) -> str:
        """The label of a state, or what it is made of, or its number."""
        return _label(self.state_labels, self.variables, s)

    def action_label(self, a: int) -> str:
        """The label of an action, or what it is made of, or its number."""
        return _label(self.action_labels, self.action_variables, a)

    def __repr__(self) -> str:
        form = "sparse" if self.sparse else "dense"
        return f"<TabularMDP {self.name}: S={self.S} A={self.A} H={self.horizon} {form}>"

    def _repr_html_(self) -> str:
        sizes = [["states", self.S], ["actions", self.A], ["steps of an episode", self.horizon]]
        made_of = [] if self.variables is None else [["variables", ", ".join(self.variables.names)]]
        return html.facts(self.name, [*sizes, *made_of])

    # -- exact facts

    @overload
    def plan(
        self, discount: float | None = None, *, average: Literal[False] = False, **options: Any
    ) -> planning.Plan: ...
    @overload
    def plan(
        self, discount: None = None, *, average: Literal[True], **options: Any
    ) -> planning.AveragePlan: ...
    def plan(
        self, discount: float | None = None, *, average: bool = False, **options: Any
    ) -> planning.Plan | planning.AveragePlan:
        """The optimal plan: over the horizon, discounted, or by the average reward of a step."""
        if average:
            options["discount"] = discount
            return planning.plan(self, average=True, **options)
        return planning.plan(self, discount=discount, **options)

    def names(self) -> tuple[Names, Names]:
        """States and actions as a `Policy` names them."""
        return self._named

    @cached_property
    def _named(self) -> tuple[Names, Names]:
        return (
            names_by("state", self.S, self.state_labels, self.variables),
            names_by("action", self.A, self.action_labels, self.action_variables),
        )

    def as_array(self, policy: GivenPolicy, *, everywhere: bool = True, timed: bool = True) -> Any:
        """A policy in this MDP's numbers, as `value` and `policy_return` take it.

        Args:
            policy: a `Policy`, matched by name (see `gim.mdp.policy.alignment`), a function or a
                mapping of states to actions, by name; or an array, by position.
            everywhere: whether it must say what to do in states that no episode can come to.
            timed: whether it may change from step to step, over the horizon.
        """
        if not goes_by_name(policy):
            return policy
        acts = ~self.terminal if everywhere else ~self.terminal & self.reachable()
        spare = self.available.argmax(axis=1)
        horizon = self.horizon if timed else None
        return as_array(policy, Place("world", *self.names(), acts, spare, horizon))

    def value(
        self, policy: GivenPolicy, discount: float | None = None, average: bool = False
    ) -> Floats:
        """Value of a policy: [H, S] over the horizon, [S] discounted; see `as_array`.

        With `average` it is the average reward of a step without end, from each state, [S].
        """
        array = self.as_array(policy, timed=discount is None and not average)
        return planning.evaluate(self, array, discount=discount, average=average)

    def policy_return(self, policy: GivenPolicy) -> float:
        """Expected reward of a whole episode under a policy; see `as_array`."""
        array = self.as_array(policy, everywhere=False)
        return float(self.start @ planning.first_values(self, array))

    def distribution(self, policy: GivenPolicy) -> Distribution:
        """The distribution of the return of an episode under a policy; see `as_array`.

        Example:
            >>> import gim
            >>> wet = gim.make("wet_chicken")
            >>> spread = wet.distribution(wet.plan().policy)
            >>> round(spread.mean, 1), spread.quantile(0.05), round(spread.cvar(0.05), 1)
            (226.5, 200.0, 193.2)
        """
        return distribution(self, self.as_array(policy, everywhere=False))

    def why(
        self,
        state: Any,
        step: int = 0,
        policy: GivenPolicy | None = None,
        *,
        horizon: int | None = None,
        discount: float | None = None,
        average: bool = False,
    ) -> Why:
        """Why a policy plays what it plays in a state: what else could be, and what that loses.

        Args:
            state: as the world calls it: a label, values of variables, or a number.
            step: the step of the episode; of no account without a horizon.
            policy: see `as_array`; None: the best one.
            horizon: H; with none of the three, the MDP's own.
            discount: the weight of each step against the one before.
            average: by the average reward of a step.

        Example:
            >>> import gim
            >>> told = gim.make("riverswim").why(4, step=18)
            >>> [(each.action, round(each.loss, 1)) for each in told.alternatives]
            [('right', 0.0), ('left', 900.0)]
            >>> print(told.sentences[0])
            left would be as good if it paid 900 more.
        """
        over = Criterion.of(horizon, discount, average, self.horizon)
        s = self.names()[0].find(state, "this world")
        timed = over.horizon is not None
        step = whole("step", step, 0, (over.horizon or 1) - 1) if timed else 0
        pi: Any
        if policy is None:
            pi = over.plan(self).policy
        else:
            world = self if over.horizon is None else self.with_(horizon=over.horizon)
            pi = checked_policy(self, world.as_array(policy, timed=timed), over.horizon)
        row = pi[step] if pi.ndim == (2 if pi.dtype.kind in "iu" else 3) else pi
        played = row[s] if row.ndim == 2 else np.eye(self.A)[row[s]]
        rows = self.rows()[s * self.A : (s + 1) * self.A]
        values = self.rewards[s], rows, over.ahead(self, pi, step)
        gain = float(self.value(pi, average=True)[s]) if average else 0.0
        when = step if timed else None
        told = (self.names(), s, when, played, values, self.available[s], self._seen(s))
        return explain(*told, gain=gain)

    def _seen(self, s: int) -> NDArray[np.int64] | None:
        """Visits of the actions of a state, [A], where they were counted."""
        return None

    def average_reward(self, policy: GivenPolicy) -> float:
        """V of the paper: the expected average reward over the horizon."""
        return self.policy_return(policy) / self.horizon

    @cached_property
    def _optimal_return(self) -> float:
        return float(self.start @ planning.optimal_values(self))

    @cached_property
    def _random_return(self) -> float:
        return self.policy_return(self.uniform_policy())

    def optimal_return(self) -> float:
        """Expected reward of an episode under the best time-dependent policy."""
        return self._optimal_return

    def random_return(self) -> float:
        """Expected reward of an episode under the uniform policy."""
        return self._random_return

    def uniform_policy(self) -> Floats:
        """Probabilities [S, A], equal over the available actions."""
        return self.available / self.available.sum(axis=1, keepdims=True)

    def expected_visits(self, policy: GivenPolicy) -> Floats:
        """Expected visits of each pair at each step of an episode, [H, S, A]; see `as_array`."""
        return planning.expected_visits(self, self.as_array(policy, everywhere=False))

    def reachable(self) -> NDArray[np.bool_]:
        """Which states can be reached from the start, [S]."""
        return planning.reachable(self)

    def diameter(self) -> float:
        """D: the largest expected time of the fastest way from one state to another."""
        return planning.diameter(self)

    def score(self, returns: ArrayLike) -> float:
        """The one score: mean return over the optimum's, or its share of the way up from random.

        Where the optimum is positive: mean / V*; otherwise (mean - V_random) / (V* - V_random).
        """
        mean, best = float(np.asarray(returns, float).mean()), self.optimal_return()
        if best > 0:
            return mean / best
        worst = self.random_return()
        return (mean - worst) / (best - worst) if best > worst else 1.0

    # -- ways in and out

    def to_gymnasium(self, render_mode: str | None = None) -> TabularEnv:
        """This MDP as a Gymnasium environment; it agrees with the compiled loop bit for bit."""
        from gim.mdp.gymnasium_env import TabularEnv

        return TabularEnv(self, render_mode=render_mode)

    def save(self, path: str | Path) -> None:
        """Save to one file, which `gim.load` reads."""
        files.save(path, "mdp", *self.pack())

    def pack(self) -> files.Packed:
        """Arrays and JSON that `unpack` turns into the same MDP."""
        arrays: dict[str, NDArray[Any]] = {
            "start": self.start,
            "terminal": self.terminal,
            "available": self.available,
        }
        tables = {"transitions": self.transitions, "rewards": self.rewards}
        if self.rewards_next is not None:
            tables["rewards"] = self.rewards_next
        for name, table in tables.items():
            if sparse.issparse(table):
                parts = {"data": table.data, "indices": table.indices, "indptr": table.indptr}
                arrays |= {f"{name}.{part}": array for part, array in parts.items()}
            else:
                arrays[name] = table
        if self.noise is not None:
            arrays["noise"] = self.noise
        meta = {key: getattr(self, key) for key in ("horizon", "discount", "name", "info")}
        for key in ("state_labels", "action_labels"):
            labels = getattr(self, key)
            meta[key] = None if labels is None else [plain(label) for label in labels]
        for name in DESCRIPTIONS:
            described: Variables | None = getattr(self, name)
            meta[name] = None
            if described is not None:
                arrays[f"{name}.codes"], meta[name] = described.pack()
        return files.Packed(arrays, meta)

    @classmethod
    def unpack(cls, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> TabularMDP:
        """The inverse of `pack`."""
        given: dict[str, Any] = dict(meta)
        shape = (arrays["available"].size, arrays["available"].shape[0])
        for name, array in arrays.items():
            table, _, part = name.partition(".")
            if part == "data":
                parts = [arrays[f"{table}.{p}"] for p in ("data", "indices", "indptr")]
                given[table] = from_parts(table, shape, *parts)
            elif part == "codes":
                given[table] = Variables.unpack(array, meta[table])
            elif not part:
                given[name] = array
        return cls(**given)

    def _arguments(self) -> dict[str, Any]:
        r = self.rewards if self.rewards_next is None else self.rewards_next
        names = ("start", "horizon", "discount", "terminal", "available", "state_labels")
        more = ("action_labels", *DESCRIPTIONS, "name", "info")
        given = {key: getattr(self, key) for key in names + more}
        noise = 0.0 if self.noise is None else self.noise
        return given | {"transitions": self.transitions, "rewards": r, "noise": noise}


def names_by(kind: str, n: int, labels: Any, variables: Variables | None) -> Names:
    """Labels where there are any, else tuples of variables, else numbers."""
    if labels is not None or variables is None:
        return Names(kind, n, labels)
    return Names(kind, n, None, [variables.values(i) for i in range(n)], variables.names)


def _label(labels: Sequence[Any] | None, variables: Variables | None, i: int) -> str:
    if labels is not None:
        return str(labels[i])
    return str(i) if variables is None else variables.label(i)
