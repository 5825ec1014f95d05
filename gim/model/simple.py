"""`gim.simplify`: the simplest policy that loses at most so much.

Simple is what can be told in a few lines, and of that there are three kinds. *Few rules*: a tree of
tests on named variables, thresholds where they have an order, with one action for each leaf. *Few
changes*: as the present policy does, but for the fewest states. *Monotone*: more of a variable
never means a lower action, or never a higher one.

All three choose among actions that lose little if they are played once and the best plan is
followed from there on (`plan.freedom`). Since losses of several steps add up, how little is found
by trying: what is stated, and what comes back, is the exact loss of the whole policy. Over a
horizon a policy that is the same at every step comes first, and only where that loses too much one
that looks at the step. That no policy is simpler still is not promised: trees grow by the best next
test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base import html
from gim._base.arguments import number
from gim._base.escapes import shown
from gim.mdp.policy import Policy
from gim.mdp.policy.alignment import GivenPolicy
from gim.mdp.tabular import TabularMDP
from gim.mdp.variables import Variables
from gim.model.deploy import world_of
from gim.planning.checks import checked_policy
from gim.planning.criterion import Criterion

TRIES = 16  # sizes of a single loss that are tried
MOST_PRUNED = 400  # policies that are valued to leave out one more rule, or one more change
LARGE = 1e100  # in place of a loss without end, where losses are added up
CERTAIN = 1e-12  # of all weight, below which it is none
STEP = "step"
SHOWN = 40  # lines

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Change(NamedTuple):
    """Where a policy differs from the present one."""

    state: Any
    step: int | None  # None: at every step
    now: Any
    new: Any


@dataclass(frozen=True, eq=False)
class Simple:
    """A simple policy and what it loses.

    Attributes:
        policy: the policy, [S] or [H, S].
        value: what it is worth from where episodes start.
        loss: by how much that is less than the best.
        lines: the rules in words, or the changes, one a line.
        changes: where it differs from the present policy, if one was given.

    Example:
        >>> import gim
        >>> river = gim.make("riverswim")
        >>> found = gim.simplify(river, 1, present=[0] * 6, discount=0.95)
        >>> [change.state for change in found.changes], found.loss < 1
        ([0, 1, 2, 3, 4, 5], True)
    """

    policy: Policy
    value: float
    loss: float
    lines: list[str]
    changes: list[Change] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        more = [f"... and {len(self.lines) - SHOWN} more"] if len(self.lines) > SHOWN else []
        told = f"value {self.value:.6g}, {self.loss:.3g} less than the best"
        return "\n".join([told, *self.lines[:SHOWN], *more])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html.text("Simple policy", str(self))


def simplify(
    given: Any,
    within: float,
    *,
    present: GivenPolicy | None = None,
    monotone: Mapping[str, str] | None = None,
    horizon: int | None = None,
    discount: float | None = None,
    average: bool = False,
) -> Simple:
    """The simplest policy that loses at most `within` of the best value.

    Args:
        given: a `TabularMDP`, or what was learned: a `LearnedModel`, a run, what `gim.learn` gave.
        within: how much it may lose from where episodes start: in all, discounted, or by step.
        present: what is done today; then the policy with the fewest changes against it.
        monotone: names of variables and "up" or "down": with more of the variable, and all else
            the same, the action never goes down, or never up, in the order of the actions.
        horizon: H; with none of the three, the MDP's own.
        discount: the weight of each step against the one before.
        average: by the average reward of a step.

    Example:
        >>> import gim
        >>> print(gim.simplify(gim.make("inventory"), within=0.1, average=True))
        value 13.5895, 0 less than the best
        stock up to 8: 20
        stock from 9 on: 0
    """
    mdp = world_of(given)
    over = Criterion.of(horizon, discount, average, mdp.horizon)
    if not number("within", within) >= 0:
        raise ValueError(f"within = {within}: a loss is a number from 0 on")
    if present is not None and monotone is not None:
        raise ValueError("give either present= or monotone=: each is a kind of its own")
    for timed in (False, True) if over.horizon is not None else (False,):
        search = _Search(mdp, over, float(within), timed)
        if present is not None:
            found = _few_changes(search, present)
        else:
            found = _few_rules(search) if monotone is None else _monotone(search, monotone)
        if found is not None:
            return found
    raise ValueError(f"no such policy was found that loses {within:g} or less: allow for more")


class _Search:
    """A best plan, and policies that are valued against it.

    A point is a state, or a state at a step; what a play loses in a state is the mean over steps,
    each as often as one comes by: half of the time by the plan, half by chance.
    """

    def __init__(self, mdp: TabularMDP, over: Criterion, within: float, timed: bool) -> None:
        self.mdp, self.over, self.within, self.timed = mdp, over, within, timed
        plan, loss = over.losses(mdp)
        often = (over.visits(mdp, plan.policy) + over.visits(mdp, mdp.uniform_policy())) / 2
        often = np.where(mdp.terminal, 0.0, often)
        best: Ints = plan.policy
        if over.horizon is not None and not timed:
            share = often / np.maximum(often.sum(axis=0), 1e-300)
            mean = (share[..., None] * np.minimum(loss, LARGE)).sum(axis=0)
            mean -= np.where(mdp.available, mean, np.inf).min(axis=1, keepdims=True)
            loss = np.where(mdp.available, mean, np.inf)
            best, often = loss.argmin(axis=1), often.sum(axis=0)
        self.shape = best.shape
        self.steps = best.shape[0] if timed else 1
        self.best = best.ravel()  # [n] the best action of each point
        self.loss: Floats = loss.reshape(-1, mdp.A)  # [n, A] of one play
        self.weight: Floats = often.ravel()  # [n]
        self.met = self.weight > 0
        self.available = np.tile(mdp.available, (self.steps, 1))
        self.value = over.best(mdp)
        self.room = 1e-9 * (1 + abs(self.value))

    def lost(self, actions: Ints) -> float:
        """The exact loss of a policy, [n]."""
        return max(0.0, self.value - self.over.worth(self.mdp, actions.reshape(self.shape)))

    def fine(self, actions: Ints) -> bool:
        """Whether it loses no more than it may."""
        return self.lost(actions) <= self.within + self.room

    def free(self, single: float) -> Bools:
        """[n, A] what may be played: all that is there where nobody comes."""
        return np.where(self.met[:, None], self.loss <= single + self.room, self.available)

    def sizes(self) -> Floats:
        """Losses of a single play to try, from none to the largest."""
        of_points = self.loss[self.met]
        losses = np.unique(of_points[np.isfinite(of_points)])
        places = np.unique(np.linspace(0, 1, TRIES) ** 2 * (losses.size - 1)).astype(np.int64)
        return losses[np.unique(places)]

    def result(self, actions: Ints, lines: list[str], changes: list[Change]) -> Simple:
        """What is handed back."""
        lost = self.lost(actions)
        lost = lost if lost > self.room else 0.0
        policy = Policy(actions.reshape(self.shape), *self.mdp.names())
        return Simple(policy, self.value - lost, lost, lines, changes)


# -- few rules


class _Rules:
    """Named variables of the points: those of the states, and the step where there is one."""

    def __init__(self, search: _Search) -> None:
        mdp, made_of = search.mdp, search.mdp.variables
        if made_of is None:
            labels = mdp.state_labels or range(mdp.S)
            made_of = Variables.coded(
                np.arange(mdp.S)[:, None], [list(labels)], ["state"], [mdp.state_labels is None]
            )
        self.names, self.ordinal = list(made_of.names), list(made_of.ordinal)
        self.levels: list[Any] = list(made_of.levels)
        self.codes = np.tile(made_of.codes, (search.steps, 1))  # [n, k]
        if search.steps > 1:
            step = np.repeat(np.arange(search.steps), mdp.S)
            self.codes = np.column_stack([self.codes, step])
            self.names.append(STEP)
            self.ordinal.append(True)
            self.levels.append(range(search.steps))

    def best_tests(self, points: Ints, held: Floats, all_: float) -> list[tuple[float, int, int]]:
        """Of each variable the test that leaves least weight to do: that weight, itself, a code.

        Args:
            points: what is tested.
            held: [points, A] the weight of each point where an action is free there, else 0.
            all_: their weight.
        """
        found, total = [], held.sum(axis=0)
        for j, ordinal in enumerate(self.ordinal):
            values, place = np.unique(self.codes[points, j], return_inverse=True)
            if values.size == 1:
                continue
            by_value = sparse.csr_array((np.ones(place.size), (place, np.arange(place.size))))
            inside = by_value @ held
            inside = inside.cumsum(axis=0)[:-1] if ordinal else inside
            left = all_ - inside.max(axis=1) - (total - inside).max(axis=1)
            k = int(left.argmin())
            found.append((float(left[k]), j, int(values[k])))
        return found

    def passes(self, points: Ints, j: int, code: int) -> Bools:
        """Which points are at most at a code, or just there where there is no order."""
        column = self.codes[points, j]
        return np.asarray(column <= code if self.ordinal[j] else column == code)


class _Leaf(NamedTuple):
    points: Ints
    action: int


class _Fork(NamedTuple):
    variable: int
    code: int
    yes: Any  # at most the code, or just that
    no: Any


def _few_rules(search: _Search) -> Simple | None:
    rules = _Rules(search)
    best: Any = None
    for single in search.sizes():
        free = search.free(float(single))
        for late in (False, True) if search.steps > 1 else (False,):
            tree = _grown(rules, search, free, np.arange(len(free)), late)
            fewer = best is None or _size(tree) < _size(best)
            best = tree if fewer and search.fine(_played(tree, search)) else best
    if best is None:
        return None
    best = _pruned(best, search)
    return search.result(_played(best, search), _told(best, rules, search), [])


def _grown(rules: _Rules, search: _Search, free: Bools, points: Ints, late: bool) -> Any:
    """A leaf if one action is free at all these points, else the test that leaves least to do.

    With `late` the step is tested only where no test of the state brings anything.
    """
    weight = search.weight[points]
    common: Bools = np.asarray(free[points[search.met[points]]].all(axis=0))
    if common.any():
        return _Leaf(points, _cheapest(search, points, common))
    held, all_ = free[points] * weight[:, None], float(weight.sum())
    undone = all_ - held.sum(axis=0).max()
    tests = [
        (undone if late and rules.names[j] == STEP and left > CERTAIN * all_ else left, j, code)
        for left, j, code in rules.best_tests(points, held, all_)
    ]
    least = min(left for left, _, _ in tests)
    _, j, code = next(each for each in tests if each[0] <= least + CERTAIN * all_)
    yes = rules.passes(points, j, code)
    parts = [_grown(rules, search, free, points[side], late) for side in (yes, ~yes)]
    return _Fork(j, code, *parts)


def _cheapest(search: _Search, points: Ints, allowed: Bools) -> int:
    """The action among some that loses least at these points."""
    met = points[search.met[points]]
    if not met.size:
        return int(search.best[points[0]])
    loss = np.where(np.isfinite(search.loss[met]), search.loss[met], 1e300)
    return int(np.where(allowed, search.weight[met] @ loss, np.inf).argmin())


def _leaves(tree: Any) -> Iterator[_Leaf]:
    if isinstance(tree, _Leaf):
        yield tree
    else:
        yield from _leaves(tree.yes)
        yield from _leaves(tree.no)


def _size(tree: Any) -> int:
    return sum(1 for _ in _leaves(tree))


def _played(tree: Any, search: _Search) -> Ints:
    """The policy of a tree, [n]; where its action cannot be played, the plan's."""
    actions = search.best.copy()
    for leaf in _leaves(tree):
        can = leaf.points[search.available[leaf.points, leaf.action]]
        actions[can] = leaf.action
    return actions


def _pruned(tree: Any, search: _Search) -> Any:
    """Forks of two leaves become leaves, as long as the loss allows it."""
    tries = 0

    def once(node: Any, rebuilt: Callable[[Any], Any]) -> Any:
        nonlocal tries
        if isinstance(node, _Leaf):
            return node
        node = node._replace(yes=once(node.yes, lambda part: rebuilt(node._replace(yes=part))))
        node = node._replace(no=once(node.no, lambda part: rebuilt(node._replace(no=part))))
        if isinstance(node.yes, _Leaf) and isinstance(node.no, _Leaf) and tries < MOST_PRUNED:
            points = np.concatenate([node.yes.points, node.no.points])
            can = search.available[points[search.met[points]]].all(axis=0)  # else it is not told
            for action in dict.fromkeys((node.yes.action, node.no.action)):
                if not can[action]:
                    continue
                tries += 1
                leaf = _Leaf(points, action)
                if search.fine(_played(rebuilt(leaf), search)):
                    return leaf
        return node

    return once(tree, lambda part: part)


def _told(tree: Any, rules: _Rules, search: _Search) -> list[str]:
    """A line for each leaf: what holds there, and what is done."""
    actions, lines = search.mdp.names()[1], []
    tested: set[int] = set()

    def look(node: Any) -> None:
        if isinstance(node, _Fork):
            tested.add(node.variable)
            look(node.yes)
            look(node.no)

    look(tree)
    for leaf in _leaves(tree):
        parts = []
        for j in sorted(tested):
            inside = np.unique(rules.codes[leaf.points, j])
            every = np.unique(rules.codes[:, j])
            if inside.size < every.size:
                parts.append(f"{shown(rules.names[j])} {_range(inside, every, rules, j)}")
        lines.append(f"{', '.join(parts) or 'always'}: {shown(actions[leaf.action])}")
    return lines


def _range(inside: Ints, every: Ints, rules: _Rules, j: int) -> str:
    """Some values of a variable in words."""
    level = rules.levels[j]
    if not rules.ordinal[j]:
        if inside.size > every.size / 2:
            return "not " + ", ".join(shown(level[c]) for c in np.setdiff1d(every, inside))
        return ", ".join(shown(level[c]) for c in inside)
    low, high = int(inside[0]), int(inside[-1])
    if low == every[0]:
        return f"up to {shown(level[high])}" if high > low else shown(level[low])
    if high == every[-1]:
        return f"from {shown(level[low])} on" if high > low else shown(level[low])
    return shown(level[low]) if low == high else f"{shown(level[low])} to {shown(level[high])}"


# -- few changes


def _few_changes(search: _Search, present: GivenPolicy) -> Simple | None:
    """From the best plan back to what is done today, wherever that loses little."""
    mdp, over = search.mdp, search.over
    array = checked_policy(mdp, mdp.as_array(present, timed=over.horizon is not None), over.horizon)
    if array.dtype.kind == "f":
        if not np.isin(array, (0.0, 1.0)).all():
            raise ValueError("the present policy draws its actions: give one that does not")
        array = array.argmax(axis=-1)
    if array.ndim > len(search.shape) or not search.fine(search.best):
        return None
    now = np.broadcast_to(array, search.shape).ravel().astype(np.int64)
    often = _often(search, search.best)
    points = np.arange(now.size)
    cost = often * search.loss[points, now]
    order = np.argsort(cost, kind="stable")

    def back(many: int) -> Ints:
        """The present policy but for the points where it loses most."""
        actions = now.copy()
        actions[order[many:]] = search.best[order[many:]]
        return actions

    low, high = 0, now.size  # `low` points can be left as they are
    if search.fine(now):
        low = high
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if search.fine(back(middle)) else (low, middle)
    actions = back(low)
    again = _often(search, actions)
    differ = np.flatnonzero(actions != now)
    gain = again[differ] * search.loss[differ, now[differ]]
    for point in differ[np.argsort(gain, kind="stable")][:MOST_PRUNED]:
        tried = actions.copy()
        tried[point] = now[point]
        if search.fine(tried):
            actions = tried
    return search.result(actions, *_changes(search, now, actions))


def _often(search: _Search, actions: Ints) -> Floats:
    """How often a policy comes by each point, [n]."""
    often = search.over.visits(search.mdp, actions.reshape(search.shape))
    return (often.sum(axis=0) if often.ndim > len(search.shape) else often).ravel()


def _changes(search: _Search, now: Ints, new: Ints) -> tuple[list[str], list[Change]]:
    states, acts = search.mdp.names()
    changes = [
        Change(
            states[int(k) % search.mdp.S],
            int(k) // search.mdp.S if len(search.shape) > 1 else None,
            acts[int(now[k])],
            acts[int(new[k])],
        )
        for k in np.flatnonzero(now != new)
    ]
    lines, k = [], 0
    changes.sort(key=lambda each: str(each.state))  # and by step, in which they stand
    while k < len(changes):
        first, last = changes[k], k
        while last + 1 < len(changes) and _goes_on(changes[last], changes[last + 1]):
            last += 1
        when = "" if first.step is None else f", step {first.step}"
        when += "" if last == k else f" to {changes[last].step}"
        lines.append(
            f"state {shown(first.state)}{when}: {shown(first.new)} in place of {shown(first.now)}"
        )
        k = last + 1
    return lines or ["as it is done now"], changes


def _goes_on(one: Change, other: Change) -> bool:
    """Whether a change is the same a step later."""
    if one.step is None or other.step is None:
        return False
    return one == other._replace(step=one.step) and other.step == one.step + 1


# -- monotone


def _monotone(search: _Search, wanted: Mapping[str, str]) -> Simple | None:
    """The least policy that never turns back, among actions that lose as little as can be."""
    rules = _Rules(search)
    signs = np.zeros(len(rules.names), np.int64)
    for name, way in wanted.items():
        if name not in rules.names or way not in ("up", "down"):
            known = ", ".join(shown(each) for each in rules.names)
            raise ValueError(f'monotone = {dict(wanted)!r}: give "up" or "down" for any of {known}')
        signs[rules.names.index(name)] = 1 if way == "up" else -1
    before = _before(rules, signs)
    found = None
    for single in search.sizes():
        actions = _climbing(search, search.free(float(single)), before, rules.codes @ signs)
        if actions is not None and (found is None or search.lost(actions) < search.lost(found)):
            found = actions
            if search.fine(found):
                break
    if found is None or not search.fine(found):
        return None
    told = " and ".join(f"{way} with {shown(name)}" for name, way in wanted.items())
    return search.result(found, [f"the action goes {told}"], [])


def _before(rules: _Rules, signs: Ints) -> list[Ints]:
    """For each variable that counts, the point next below each, or -1: all else the same."""
    found = []
    for j in np.flatnonzero(signs):
        others = np.delete(rules.codes, j, axis=1)
        _, group = np.unique(others, axis=0, return_inverse=True) if others.size else (0, 0)
        group = np.zeros(len(rules.codes), np.int64) + np.asarray(group).ravel()
        order = np.lexsort((signs[j] * rules.codes[:, j], group))
        below = np.full(len(order), -1)
        below[order[1:]] = np.where(group[order[1:]] == group[order[:-1]], order[:-1], -1)
        found.append(below)
    return found


def _climbing(search: _Search, free: Bools, before: list[Ints], height: Ints) -> Ints | None:
    """The lowest action at each point that is free and not below those before it; None: none is.

    What is lowest everywhere is possible if anything is. Where nobody comes, what can be played is.
    """
    actions = np.zeros(len(free), np.int64)
    for point in np.argsort(height, kind="stable").tolist():
        floor = max(
            (int(actions[below[point]]) for below in before if below[point] >= 0), default=0
        )
        can = np.flatnonzero(free[point])
        above = can[can >= floor]
        if not above.size and search.met[point]:
            return None
        actions[point] = above[0] if above.size else can[-1]
    return actions
