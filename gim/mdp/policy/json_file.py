"""A policy as JSON, for programs: a line for each state.

    {"gim": "policy", "format": 1, "states": 3, "actions": ["left", "right"], "steps": 20,
    "policy": [
    [[0, 1], [18, 0]],
    1,
    {"0": 0.5, "1": 0.5}
    ]}

State 0 plays action 1 from step 0 on and action 0 from step 18 on, state 1 action 1 throughout, and
state 2 draws from the two. ``steps`` is null where the policy is the same at every step. ``states``
and ``actions`` say how many there are, list their labels, or their variables, with names and
values. ``unseen`` lists the states of which nothing is known, where some are.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._base.arguments import as_whole, whole
from gim._base.files import LIMIT
from gim.mdp.names import Names
from gim.mdp.policy.changes import Changes, afford, steps_of

FORMAT = 1


def write_json(given: Changes) -> str:
    """The text of the file."""
    head: dict[str, Any] = {"gim": "policy", "format": FORMAT}
    head |= {"states": given.states.to_json(), "actions": given.actions.to_json()}
    head["steps"] = given.steps
    if given.seen is not None:
        head["unseen"] = np.flatnonzero(~given.seen).tolist()
    first = np.flatnonzero(np.append(True, given.state[1:] != given.state[:-1]))
    rows, step = [_row(row) for row in given.rows], given.step.tolist()
    lines = []
    for begin, end in zip(first.tolist(), [*first[1:].tolist(), len(rows)], strict=True):
        several = [[step[i], rows[i]] for i in range(begin, end)]
        lines.append(json.dumps(rows[begin] if end == begin + 1 else several))
    return json.dumps(head)[:-1] + ',\n"policy": [\n' + ",\n".join(lines) + "\n]}\n"


def read_json(text: str, limit: int = LIMIT) -> Changes:
    """The inverse of `write_json`; `limit` is the bytes that it may ask for."""
    try:
        given = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(given, dict) or given.get("gim") != "policy":
        raise ValueError('it is JSON, but no policy: that has "gim": "policy"')
    if (version := given.get("format")) != FORMAT:
        raise ValueError(f"it has format {version!r}, this gim reads {FORMAT}: save it again")
    states, actions = (Names.from_json(kind, given.get(f"{kind}s")) for kind in ("state", "action"))
    steps, entries = steps_of(given.get("steps")), given.get("policy")
    if not isinstance(entries, list) or len(entries) != states.n:
        raise ValueError(f"policy must be a list with an entry for each of the {states.n} states")
    state, step, rows = [], [], []
    for s, entry in enumerate(entries):
        for change in entry if isinstance(entry, list) else [[0, entry]]:
            if not isinstance(change, list) or len(change) != 2:
                raise ValueError(f"policy[{s}] must be an action, or a list of [step, action]")
            state.append(s)
            step.append(whole(f"a step of policy[{s}]", change[0], 0, (steps or 1) - 1))
            rows.append(change[1])
    seen = None
    if "unseen" in given:
        seen = np.ones(states.n, bool)
        for number in given["unseen"] if isinstance(given["unseen"], list) else [None]:
            seen[whole("unseen", number, 0, states.n - 1)] = False
    found = _rows(rows, state, actions, limit)
    return Changes(states, actions, steps, np.array(state), np.array(step), found, seen)


def _row(row: Any) -> Any:
    """An action as a number, probabilities as a mapping of those above 0."""
    if not row.ndim:
        return int(row)
    return {str(a): float(row[a]) for a in np.flatnonzero(row).tolist()}


def _rows(rows: list[Any], state: list[int], actions: Names, limit: int) -> NDArray[Any]:
    """Actions [n], or probabilities [n, A]; all rows are of one kind."""
    if not any(isinstance(row, dict) for row in rows):
        checked = [
            whole(f"an action of policy[{s}]", row, 0, actions.n - 1)
            for s, row in zip(state, rows, strict=True)
        ]
        return np.array(checked, np.int64)
    afford(len(rows) * actions.n, limit)
    found = np.zeros((len(rows), actions.n))
    for i, (s, row) in enumerate(zip(state, rows, strict=True)):
        for key, chance in row.items() if isinstance(row, dict) else [(None, None)]:
            a = as_whole(int(key)) if isinstance(key, str) and key.isdecimal() else None
            if a is None or a >= actions.n or not isinstance(chance, (int, float)):
                raise ValueError(f"policy[{s}] must be probabilities by action throughout")
            found[i, a] = chance
    return found
