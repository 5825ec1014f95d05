"""Agents that know of structure, and MORMAX: literal twins, true parents and types, the optimum."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import gim
from gim.agents.factored_rmax import FactoredRMax, true_parents
from gim.agents.factors import MOST, Guess, new_factors
from gim.agents.met_rmax import MetRMax
from gim.agents.mormax import MORMax
from gim.agents.predicted_rmax import estimated
from gim.agents.relocatable_rmax import RelocatableRMax, true_types
from gim.analogy.prior import prior_of
from gim.runs.agent import agents
from gim.runs.run import prepare, task_of
from tests import naive_structured as naive
from tests.naive_optimism import replayed
from tests.random_mdps import costly, eventful, random_mdp

NAMES = ["factored_rmax", "met_rmax", "relocatable_rmax", "mormax"]


def network(seed):
    """x' depends on x, y' on y and x'; of the states with x = 2 one does not exist; ends, noise."""
    rng = np.random.default_rng(seed)
    states = [(x, y) for x in range(3) for y in range(2) if (x, y) != (2, 1)]
    of_x = rng.dirichlet([1.0, 1.0, 0.5], size=(2, 3))
    of_y = rng.dirichlet([1.0, 1.0], size=(2, 2, 3))
    of_y[:, :, 2] = [1.0, 0.0]
    paid = rng.normal(size=(3, 2)).round(2)
    end = len(states) - 1
    outcomes = [
        (s, a, t, of_x[a, x, x2] * of_y[a, y, x2, y2], paid[x2, a])
        for s, (x, y) in enumerate(states)
        if s != end
        for a in range(2)
        for t, (x2, y2) in enumerate(states)
    ]
    return gim.from_outcomes(
        [each for each in outcomes if each[3] > 0],
        S=len(states),
        A=2,
        horizon=8,
        terminal=[end],
        variables=gim.Variables(states, names=["x", "y"], ordinal=[True, False]),
    ).with_(noise=0.1)


TWINS = [
    (FactoredRMax(m=3), naive.Factored),
    (FactoredRMax(m=2, rewards="known"), naive.Factored),
    (MetRMax(m=3), naive.Factored),
    (MetRMax(m=2, parents=1, epsilon=0.3, trials=3), naive.Factored),
    (MetRMax(m=4, parents=2, trials=2, rewards="known"), naive.Factored),
    (RelocatableRMax(m=4), naive.Relocatable),
    (RelocatableRMax(m=3, rewards="known"), naive.Relocatable),
    (MORMax(m=3), naive.MORMax),
    (MORMax(m=5, drop=0.05), naive.MORMax),
]


@pytest.mark.parametrize(
    ("world", "seed"), [(eventful, 1), (costly, 2), (network, 1), (network, 2)]
)
@pytest.mark.parametrize(("agent", "twin"), TWINS, ids=lambda x: str(x).split(".")[-1])
def test_twin_makes_the_same_choices(agent, twin, world, seed):
    run, mind = replayed(twin, agent, world(seed), 40, seed)
    played = np.take_along_axis(mind.q, run.policy[:, :, None], axis=2)[:, :, 0]
    assert np.allclose(played, mind.q.max(axis=2), rtol=1e-9, atol=1e-9)
    if twin is naive.MORMax:
        assert np.allclose(run.memory.q, mind.q[0], rtol=1e-9, atol=1e-9)
        pairs = np.argwhere(run.memory.has_model & ~run.memory.belief.terminal[:, None])
        assert {tuple(pair) for pair in pairs.tolist()} == set(mind.model)
    else:
        known = {tuple(pair) for pair in np.argwhere(run.memory.known).tolist()}
        assert known == mind.known
        assert run.plans == mind.plans


# -- what is given: parents and types


def test_true_parents_of_taxi():
    """By the rules: rows and columns by themselves and walls, passengers by where the taxi is."""
    mdp = gim.make("taxi")
    found = true_parents(task_of(mdp), 6)
    row, col, passenger, _, row2, col2, passenger2, destination2 = range(8)
    north, east, pickup, dropoff = 1, 2, 4, 5
    assert found[north, 0] == (row,)
    assert found[east, 1] == (col, row2)  # walls stand in some rows
    assert found[pickup, 2] == (passenger, row2, col2)
    assert found[north, 4] == found[north, 5] == ()  # never ends, always costs 1
    assert found[dropoff, 4] == (passenger2, destination2)
    assert found[dropoff, 5] == (passenger, passenger2, destination2)


def test_true_parents_of_a_ring():
    """A machine hears itself and the one before it; a rebooted one hears no one."""
    mdp = gim.make("sysadmin", machines=4)
    found = true_parents(task_of(mdp), 4)
    none = mdp.A - 1 if mdp.action_label(mdp.A - 1) == "none" else 0
    parents = {part: set(found[none, part]) for part in range(4)}
    assert all(part in parents[part] and len(parents[part]) <= 2 for part in range(4))
    reboots = [a for a in range(mdp.A) if sum(found[a, part] == () for part in range(4)) == 1]
    assert len(reboots) == 4


def test_without_a_table_all_variables_are_parents():
    task = task_of(gim.make("gridworld"))
    bare = type(task)(task.S, task.A, task.H, task.available, None, variables=task.variables)
    assert true_parents(bare, 2)[0, 1] == (0, 1, 2)


def test_types_of_a_grid_are_its_corners_edges_and_inside():
    mdp = gim.make("gridworld", height=5, width=5)
    kinds = true_types(mdp, mdp.variables, rewards=False)
    assert kinds.max() + 1 == 9
    inside = [s for s in range(25) if 1 <= s // 5 <= 3 and 1 <= s % 5 <= 3]
    assert len(set(kinds[inside])) == 1
    apart = true_types(mdp, mdp.variables, rewards=True)
    assert apart.max() > kinds.max()  # next to the goals rewards differ


def test_guesses_of_met_rmax_are_all_sets_of_so_many_inputs():
    task = task_of(gim.make("taxi"))
    guesses = MetRMax(parents=3).guesses(task, 6)
    mine = [g.inputs for g in guesses if (g.action, g.part) == (0, 1)]
    assert len(mine) == 10
    assert all(len(set(inputs)) == 3 and max(inputs) <= 4 for inputs in mine)


# -- what they come to


@pytest.mark.parametrize("word", ["factored_rmax:m=1", "met_rmax:m=1,trials=1", "mormax:m=1"])
def test_a_deterministic_world_is_learned_exactly(word):
    mdp = gim.make("taxi:size=3,horizon=30")
    run = gim.run(word, mdp, 400, seed=1)
    assert mdp.policy_return(run.best_policy()) == pytest.approx(mdp.optimal_return())
    assert naive.explained(run.model, mdp) == 0.0


@pytest.mark.parametrize("word", ["factored_rmax:m=1", "relocatable_rmax:m=1"])
def test_what_holds_elsewhere_is_known_of_pairs_never_met(word):
    mdp = gim.make("taxi")
    run = prepare(agents.make(word), mdp, 1000, 3)
    run.pause_at(1000)
    plain = prepare(agents.make("rmax:m=1"), mdp, 1000, 3)
    plain.pause_at(1000)
    met = run.memory.belief.counts.n > 0
    assert met.sum() < 0.25 * mdp.available.sum()
    assert run.memory.known.sum() > 0.9 * mdp.available.sum()
    assert plain.memory.known.mask.sum() < 0.5 * mdp.available.sum()
    ways = (mdp.available & mdp.reachable()[:, None] & ~mdp.terminal[:, None]) & run.memory.known
    wrong = np.abs((run.model.rows() - mdp.rows()).sum(axis=1)).reshape(mdp.S, mdp.A)
    assert wrong[ways].max() < 1e-9


def test_met_rmax_drops_the_guesses_that_leave_out_a_parent():
    """Three coins: each lands as the one before it did, the first by itself."""
    states = [(a, b, c) for a in range(2) for b in range(2) for c in range(2)]
    P = np.zeros((8, 1, 8))
    for s, (a, b, _) in enumerate(states):
        for a2, p in ((0, 0.5), (1, 0.5)):
            P[s, 0, states.index((a2, a, b))] = p
    mdp = gim.TabularMDP(P, np.zeros((8, 1)), horizon=20, variables=np.array(states))
    agent = MetRMax(m=10, parents=1, epsilon=0.4, trials=10)
    run = gim.run(agent, mdp, 40, seed=1)
    guesses, active = agent.guesses(run.task, 5), run.memory.factors.active
    left = {g for g, on in zip(guesses, active, strict=True) if on}
    assert {g.inputs for g in left if g.part == 1} == {(0,)}
    assert {g.inputs for g in left if g.part == 2} == {(1,)}
    assert run.memory.known.all()


def test_values_of_mormax_fall_only():
    mdp = eventful(4)
    run = prepare(MORMax(m=4), mdp, 200, 1)
    run.pause_at(1)
    renewed = 0
    while not run.finished:
        q, had, to = (x.copy() for x in (run.memory.q, run.memory.has_model, run.memory.model_to))
        run.pause_at(run.steps + 1)
        assert (run.memory.q <= q + 1e-9)[mdp.available].all()
        renewed += int((run.memory.model_to != to).any(axis=2)[had].sum())
    assert renewed >= 1  # a pair has learned anew


def test_tables_of_guesses_stand_side_by_side():
    """Three variables of 2, 3 and 4 values: one depends on two, one on one, one on none."""
    states = [(x, y, z) for x in range(2) for y in range(3) for z in range(4)]
    P = np.eye(24)[:, None]
    task = task_of(gim.TabularMDP(P, np.zeros((24, 1)), horizon=2, variables=np.array(states)))
    guesses = [Guess(0, 0, (0, 1)), Guess(0, 1, (2,)), Guess(0, 2, ())]
    f = new_factors(task, guesses, 3, (1, 0.1, 1), 1.0)
    contexts, cells = [6, 4, 1], [6 * 2, 4 * 3, 1 * 4]
    assert f.place.tolist() == [0, 6, 10]
    assert f.cell.tolist() == [0, 12, 24]
    assert (f.n.size, f.table.size) == (sum(contexts), sum(cells))
    assert f.state.tolist() == list(range(24))
    assert (f.x @ f.radix).tolist() == list(range(24))


def ring(S=4):
    """Action 0 goes on, action 1 stays; every pair pays another sum; state S is never entered."""
    P = np.zeros((S + 1, 2, S + 1))
    for s in range(S):
        P[s, 0, (s + 1) % S] = P[s, 1, s] = 1.0
    P[S, :, S] = 1.0
    r = np.arange(2.0 * S + 2).reshape(-1, 2) / 10
    return gim.TabularMDP(P, r, horizon=6, start=0)


@pytest.mark.parametrize("agent", [FactoredRMax(m=50), MetRMax(m=50, parents=1)])
def test_the_model_of_few_visits_is_what_they_say(agent):
    """Nothing has been seen m times yet; of pairs never met nothing is said."""
    mdp = ring()
    run = gim.run(agent, mdp, 2, seed=1)
    met = run.memory.belief.counts.n > 0
    assert 0 < met.sum() < met.size
    assert np.array_equal(run.model.supported, met)
    assert np.allclose(run.model.to_dense().transitions[met], mdp.transitions[met])
    assert np.allclose(run.model.rewards[met], mdp.rewards[met])


@pytest.mark.parametrize("name", ["factored_rmax", "relocatable_rmax", "mormax"])
def test_all_is_explored_once_what_can_be_reached_is_known(name):
    run = gim.run(f"{name}:m=1", ring(), 20, seed=1)
    assert run.explored_at is not None
    assert not run.memory.belief.counts.n.any(axis=1)[-1]
    assert run.plans > 1


def test_a_prediction_worth_m_visits_is_a_model_for_mormax():
    """All that is predicted is taken as it is, but for the pair that has a model of its own."""
    mdp = random_mdp(3, S=4, A=2, horizon=5)
    run = prepare(MORMax(m=2), mdp, 1, 0)
    one = np.ones((4, 2))
    belief = run.memory.belief
    belief.counts.n[0, 0], belief.counts.R[0, 0] = 2, 1.0
    belief.counts.next.reshape(4, 2, 4)[0, 0, 1] = 2
    prior = prior_of(mdp.transitions, 9 * one, r=mdp.rewards, r_n0=9 * one)
    memory = run.memory._replace(belief=belief._replace(prior=prior))
    memory.has_model[0, 0], memory.model_to[0, 0], memory.model_R[0, 0] = True, 1, 1.0
    P, r = mdp.transitions.copy(), mdp.rewards.copy()
    P[0, 0], r[0, 0] = np.eye(4)[1], 0.5
    mind = SimpleNamespace(task=run.task, plans=0)
    plan = MORMax(m=2)._plan(memory, mind, mdp.reward_range[1])
    assert np.allclose(plan.q[:, :4], gim.plan(mdp.with_(transitions=P, rewards=r)).q)
    assert mind.plans == 1


def test_no_guess_makes_an_end_of_a_state_that_is_lived_in():
    """Early on guesses may say so: of where episodes start (0), and of where one acted (1)."""
    mdp = gim.make("riverswim", length=4).with_(start=0)
    run = prepare(MetRMax(), mdp, 1, 0)
    run.memory.belief.counts.n[1, 0] = 1
    rows, r = mdp.rows(), mdp.rewards
    model = estimated(rows, r, np.array([True, True, True, False]), run.memory, run.task)
    assert model.terminal.tolist() == [False, False, True, False]
    assert np.allclose(model.to_dense().transitions[[0, 1, 3]], mdp.transitions[[0, 1, 3]])


@pytest.mark.parametrize("name", NAMES)
def test_rewards_that_are_given_to_the_run_are_planned_with(name):
    """Not those of the world: here only the left bank pays."""
    mdp = gim.make("riverswim")
    table = np.zeros((mdp.S, mdp.A))
    table[0] = 1.0
    run = gim.run(f"{name}:m=20", mdp, 300, seed=1, rewards=table)
    assert np.allclose(run.model.rewards[run.model.supported], table[run.model.supported])
    left = mdp.with_(rewards=table)
    assert left.policy_return(run.policy) >= 0.97 * left.optimal_return()
    mine = gim.run(f"{name}:m=20", mdp, 300, seed=1)
    assert left.policy_return(mine.policy) < 0.5 * left.optimal_return()


# -- refusals


def test_known_rewards_need_a_table():
    task = task_of(gim.make("gridworld"))
    bare = type(task)(task.S, task.A, task.H, task.available, (0.0, 1.0))
    for name in ("factored_rmax", "met_rmax", "relocatable_rmax"):
        with pytest.raises(ValueError, match="shows its table"):
            agents.make(f"{name}:rewards=known").start(bare, np.random.default_rng(0))


def test_tables_too_large_are_refused_before_work_begins():
    task, rng = task_of(gim.make("sysadmin")), np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"parents = 12: .* give fewer parents"):
        MetRMax(parents=12).start(task, rng)
    task = task_of(gim.make("gridworld:height=20,width=20,horizon=3").with_(variables=None))
    with pytest.raises(ValueError, match=f"{MOST:,} is the most: give fewer parents"):
        new_factors(task, [Guess(0, 0, (0, 1))] * 2, 3, (1, 0.1, 1), 1.0)


def test_a_model_says_which_pairs_are_known():
    """Those whose parts are all known to the agent, and those of states that end."""
    run = gim.run("factored_rmax:m=2", "sysadmin:machines=3", episodes=30, seed=0)
    known = run.memory.known | run.model.terminal[:, None]
    assert run.memory.known.sum() > 0
    assert np.array_equal(run.model.known, known)
