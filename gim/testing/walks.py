"""Checks that any walk must pass, whatever its rule."""

from __future__ import annotations

import numpy as np

from gim._compile.jit import plain
from gim._compile.memory import flatten
from gim.agents.gim import GIM
from gim.mdp.sampling import TERMINATED, begin, step
from gim.mdp.tabular import TabularMDP
from gim.model.counts import Counts, Known, count, new_counts, new_known, update_known
from gim.paper.walks.base import GIVE_UP, PLAN, ROOM, Exploration, explorations
from gim.runs.run import prepare
from gim.testing.agents import check_agent, small_worlds
from gim.testing.tasks import chi_square

STEPS = 600  # of the walk whose every choice is looked at
DRAWS = 300  # of the random action, in each state


def check_walk(walk: Exploration, seed: int = 0) -> None:
    """Check a walk on small worlds.

    Its spec string builds it again; whatever was counted it chooses an available action and changes
    neither counts nor known-ness, also if it starts in the middle; with beta = 1 every available
    action is equally likely; where all pairs can be reached it makes all of them known; and an
    agent that walks so passes `check_agent`, so that a seed fixes every bit and compiled, plain and
    stepwise runs agree.

    Raises:
        AssertionError: with what does not hold.

    Example:
        >>> from gim.paper.walks.balanced import Balanced
        >>> from gim.testing import check_walk
        >>> check_walk(Balanced())
    """
    assert explorations.make(str(walk)) == walk, f"{walk} does not come back from its spec string"
    for world in small_worlds():
        for beta in (0.0, 0.3):
            _check_choices(walk, world, beta, seed)
    for world in small_worlds():
        _check_random_actions(walk, world, seed)
    _check_it_explores(walk, small_worlds()[0], seed)
    check_agent(GIM(m=3, exploration=walk), seed=seed)


def _check_choices(walk: Exploration, world: TabularMDP, beta: float, seed: int) -> None:
    """Walk step by step in plain Python; halfway make the walk's memory anew."""
    rng = np.random.default_rng(seed)
    counts, known = new_counts(world.S, world.A), new_known(world.available, 3, 0.7)
    choose, observe = plain(walk.choose), plain(walk.observe)
    draw, move, tell, learn = plain(begin), plain(step), plain(count), plain(update_known)
    s, h = int(draw(world.world, rng)), 0
    for i in range(STEPS):
        if i % (STEPS // 2) == 0:
            memory = walk.start(counts, known, beta, rng)
        before = _copy(counts, known)
        a = int(choose(memory, counts, known, s, rng))
        assert 0 <= a < world.A, f"{walk} on {world}: chooses {a}, which is no action"
        assert world.available[s, a], f"{walk} on {world}: chooses {a}, not available in state {s}"
        assert _same(before, _copy(counts, known)), f"{walk} on {world}: choosing changes counts"
        t, r, end = move(world.world, s, a, rng)
        tell(counts, s, a, r, int(t))
        news = learn(known, counts, s, a, int(t), end == TERMINATED)
        before = _copy(counts, known)
        wish = observe(memory, counts, known, s, a, int(t), news)
        assert _same(before, _copy(counts, known)), f"{walk} on {world}: observing changes counts"
        assert wish in range(PLAN + ROOM + GIVE_UP + 1), (
            f"{walk} on {world}: observe returns {wish!r}, not what it asks for (NOTHING, PLAN, "
            "ROOM and GIVE_UP of gim.paper.walks.base, added up)"
        )
        if wish & ROOM:
            memory = walk.grow(memory)
        s, h = int(t), h + 1
        if end == TERMINATED or h == world.horizon:
            s, h = int(draw(world.world, rng)), 0


def _check_random_actions(walk: Exploration, world: TabularMDP, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts, known = new_counts(world.S, world.A), new_known(world.available, 3, 0.7)
    memory, choose = walk.start(counts, known, 1.0, rng), plain(walk.choose)
    for s in np.flatnonzero(~world.terminal):
        taken = [int(choose(memory, counts, known, int(s), rng)) for _ in range(DRAWS)]
        fair = world.available[s] / world.available[s].sum()
        what = f"{walk} on {world}: with beta = 1 an action of state {s}"
        chi_square(np.bincount(taken, minlength=world.A).astype(float), fair, what)


def _check_it_explores(walk: Exploration, world: TabularMDP, seed: int) -> None:
    run = prepare(GIM(m=2, rho=1.0, exploration=walk), world, 500, seed).go()
    stalled = [note for note in run.notes if "stalled" in note]
    assert not stalled, f"{walk} on {world}: {stalled[0]}"
    assert run.explored_at is not None, f"{walk} on {world}: never makes every pair known"


def _copy(counts: Counts, known: Known) -> list[np.ndarray]:
    return [array.copy() for part in (counts, known) for array in flatten(part).values()]


def _same(one: list[np.ndarray], two: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
