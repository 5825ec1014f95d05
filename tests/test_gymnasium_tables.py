"""Environments of Gymnasium as tables: read exactly, or refused with the reason."""

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import generate_random_map
from gymnasium.spaces import Box, Discrete
from gymnasium.wrappers import TimeLimit, TransformReward

import gim
from gim.mdp.convert import NoTable


def twin(env, horizon, uniform=False):
    """Values [S] of the first step, straight from the table: the best, or of random play."""
    P, S, A = env.unwrapped.P, env.observation_space.n, env.action_space.n
    v = [0.0] * S
    for _ in range(horizon):
        q = [
            [sum(p * (r + (0 if over else v[t])) for p, t, r, over in P[s][a]) for a in range(A)]
            for s in range(S)
        ]
        v = [sum(row) / A if uniform else max(row) for row in q]
    return np.array(v)


def make_env(name, **options):
    return gymnasium.make(name, **options)


HOLES = ["SFFHF", "FHFFF", "FFSFH", "HFFGF"]


FOREIGN = {
    "frozen lake": ("FrozenLake-v1", {}, None),
    "frozen lake 8x8": ("FrozenLake8x8-v1", {}, None),
    "dry lake": ("FrozenLake-v1", {"is_slippery": False}, None),
    "own lake": ("FrozenLake-v1", {"desc": HOLES, "success_rate": 0.7}, None),
    "paid lake": ("FrozenLake-v1", {"desc": HOLES, "reward_schedule": (9, -3, -1)}, 30),
    "random lake": ("FrozenLake-v1", {"desc": generate_random_map(6, seed=1)}, None),
    "cliff": ("CliffWalking-v1", {}, 60),
    "slippery cliff": ("CliffWalking-v1", {"is_slippery": True}, 60),
    "taxi": ("Taxi-v4", {}, None),
    "rainy taxi": ("Taxi-v4", {"is_rainy": True}, 20),
}


@pytest.mark.parametrize("key", FOREIGN)
def test_tables_of_gymnasium_are_read_exactly(key):
    name, options, horizon = FOREIGN[key]
    env = make_env(name, **options)
    mdp = gim.from_gymnasium(env, horizon)
    limit = horizon or env.spec.max_episode_steps
    H = min(limit, 25)  # the twin is slow
    start = env.unwrapped.initial_state_distrib
    assert env.observation_space.n == mdp.S
    assert env.action_space.n == mdp.A
    assert mdp.horizon == limit
    assert mdp.name == name
    assert (mdp.start == start).all()
    assert "extra_state" not in mdp.info
    short = mdp.with_(horizon=H)
    met = mdp.reachable() & ~mdp.terminal
    best, random = twin(env, H), twin(env, H, uniform=True)
    assert short.plan().v[0][met] == pytest.approx(best[met], abs=1e-10)
    assert short.value(mdp.uniform_policy())[0][met] == pytest.approx(random[met], abs=1e-10)
    assert short.optimal_return() == pytest.approx(start @ best, abs=1e-10)


def test_taxi_is_sparse_and_ends_at_the_destination():
    mdp = gim.from_gymnasium("Taxi-v4")
    assert mdp.sparse
    assert (mdp.S, mdp.horizon, mdp.terminal.sum()) == (500, 200, 4)
    assert (mdp.reachable() & ~mdp.terminal).sum() == 400
    assert mdp.optimal_return() == pytest.approx(7.93, abs=0.01)  # the known optimum of Taxi


def test_cliff_walking_by_hand():
    mdp = gim.from_gymnasium("CliffWalking-v1", horizon=50)
    assert mdp.optimal_return() == -13
    assert np.flatnonzero(mdp.terminal).tolist() == [47]
    right = 1
    assert mdp.transitions[36, right, 36] == 1  # over the cliff, back to the start
    assert mdp.rewards[36, right] == -100
    assert mdp.rewards[36].tolist() == [-1, -100, -1, -1]


def test_frozen_lake_by_hand():
    mdp = gim.from_gymnasium(make_env("FrozenLake-v1"))
    assert np.flatnonzero(mdp.terminal).tolist() == [5, 7, 11, 12, 15]
    right = 2
    assert mdp.transitions[14, right, [10, 14, 15]] == pytest.approx([1 / 3] * 3)
    assert mdp.rewards[14] == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3])
    assert mdp.info["layout"]["symbols"][5] == "H"
    shown = mdp.to_gymnasium("ansi")
    shown.reset(seed=0)
    assert shown.render().startswith("[S] F  F  F\n F  H  F  H\n")


@pytest.mark.parametrize(
    ("name", "shape"),
    [("FrozenLake-v1", (4, 4)), ("FrozenLake8x8-v1", (8, 8)), ("CliffWalking-v1", (4, 12))],
)
def test_grids_of_gymnasium_have_rows_and_columns(name, shape):
    mdp = gim.from_gymnasium(name, horizon=10)
    assert mdp.variables.names == ("row", "col")
    assert mdp.variables.ordinal == (True, True)
    assert mdp.variables.sizes == shape
    assert [mdp.variables.values(s) for s in range(mdp.S)] == list(np.ndindex(shape))


def test_actions_of_gymnasium_do_what_their_names_say():
    moves = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    moves |= {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
    for name, options in (
        ("FrozenLake-v1", {"is_slippery": False}),
        ("CliffWalking-v1", {}),
        ("Taxi-v4", {}),
    ):
        mdp = gim.from_gymnasium(make_env(name, **options), horizon=5).to_dense()
        codes, seen = mdp.variables.codes[:, :2], set()
        for s, a in np.argwhere(~mdp.terminal[:, None] & np.ones((1, mdp.A), bool)):
            t = int(mdp.transitions[s, a].argmax())
            move = tuple(codes[t] - codes[s])
            if mdp.rewards[s, a] > -100 and any(move):
                assert move == moves[mdp.action_label(a)], (name, s, a)
                seen.add(mdp.action_label(a))
        assert len(seen) == 4


def test_taxi_is_made_of_four_variables():
    env = make_env("Taxi-v4")
    v = gim.from_gymnasium(env).variables
    assert v.names == ("row", "col", "passenger", "destination")
    assert v.ordinal == (True, True, False, False)
    assert v.codes.tolist() == [list(env.unwrapped.decode(s)) for s in range(500)]
    assert v.state((2, 2, "Y", "R")) == env.unwrapped.encode(2, 2, 2, 0)


def test_time_limits():
    assert gim.from_gymnasium(TimeLimit(Walk(LOOP), 5)).horizon == 5
    assert gim.from_gymnasium(TimeLimit(TimeLimit(Walk(LOOP), 5), 9)).horizon == 5
    assert gim.from_gymnasium(make_env("FrozenLake-v1", max_episode_steps=7)).horizon == 7
    assert gim.from_gymnasium(TimeLimit(make_env("CliffWalking-v1"), 30)).horizon == 30
    assert gim.from_gymnasium("FrozenLake-v1", horizon=5).horizon == 5
    with pytest.raises(ValueError, match="CliffWalking-v1 has no time limit: give one"):
        gim.from_gymnasium("CliffWalking-v1")
    with pytest.raises(ValueError, match="horizon = 0"):
        gim.from_gymnasium("FrozenLake-v1", horizon=0)


def test_environments_of_ours_give_their_own_mdp():
    mdp = gim.make("riverswim")
    assert gim.from_gymnasium(mdp.to_gymnasium()) is mdp
    assert gim.from_gymnasium("gim/RiverSwim-v0").name == "riverswim"
    assert gim.from_gymnasium(mdp.to_gymnasium(), horizon=5).horizon == 5
    short = make_env("gim/RiverSwim-v0", max_episode_steps=4)
    assert gim.from_gymnasium(short).horizon == 4


class Walk(gymnasium.Env):
    """Two states; the table is what a test needs."""

    observation_space, action_space = Discrete(2), Discrete(2)
    initial_state_distrib = np.array([1.0, 0.0])

    def __init__(self, P=None, **attributes):
        if P is not None:
            self.P = P
        for name, value in attributes.items():
            setattr(self, name, value)


LOOP = {s: {a: [(1.0, s, 0.0, False)] for a in (0, 1)} for s in (0, 1)}


def test_a_state_entered_as_terminated_and_not_gets_a_state_for_the_end():
    P = {
        0: {0: [(0.5, 1, 1.0, False), (0.5, 1, 5.0, True)], 1: [(1.0, 0, 0.5, True)]},
        1: {0: [(1.0, 0, 2.0, False)], 1: [(0.25, 1, 0.0, True), (0.75, 1, 3.0, False)]},
    }
    env = Walk(P)
    mdp = gim.from_gymnasium(env, horizon=6)
    assert mdp.info["extra_state"] == 2
    assert mdp.S == 3
    assert mdp.terminal.tolist() == [False, False, True]
    assert mdp.state_labels == (0, 1, "end")
    assert mdp.variables is None
    assert mdp.transitions[0, 0].tolist() == [0, 0.5, 0.5]
    assert mdp.rewards[0].tolist() == [3, 0.5]
    assert mdp.plan().v[0][:2] == pytest.approx(twin(env, 6))
    uniform = mdp.value(mdp.uniform_policy())[0][:2]
    assert uniform == pytest.approx(twin(env, 6, uniform=True))


def test_outcomes_that_pay_differently_pay_their_expectation():
    P = {s: {a: [(0.25, 1, 4.0, False), (0.75, 1, 0.0, False)] for a in (0, 1)} for s in (0, 1)}
    mdp = gim.from_gymnasium(Walk(P), horizon=3)
    assert mdp.rewards.tolist() == [[1, 1], [1, 1]]
    assert mdp.transitions[0, 0].tolist() == [0, 1]


def test_an_empty_list_of_outcomes_is_no_action():
    P = {0: {0: [(1.0, 1, 0.0, False)], 1: []}, 1: {0: [(1.0, 0, 1.0, False)], 1: []}}
    assert gim.from_gymnasium(Walk(P), horizon=3).available.tolist() == [[True, False]] * 2


@pytest.mark.parametrize(
    ("build", "kind", "message"),
    [
        (lambda: make_env("Blackjack-v1"), NoTable, "observation_space of Blackjack-v1 is Tuple"),
        (lambda: make_env("CartPole-v1"), NoTable, "it must be Discrete, from 0 on"),
        (lambda: Walk(), NoTable, "Walk has no P: only environments that show their transitions"),
        (lambda: Walk({}, action_space=Discrete(2, start=1)), NoTable, "from 0 on"),
        (lambda: Walk(np.full((2, 2, 2), 0.5)), NoTable, "P of Walk is not a table of lists"),
        (lambda: Walk({0: {}}), NoTable, "P of Walk is not a table of lists"),
        (lambda: Walk({}, observation_space=Box(0, 1)), NoTable, "must be Discrete"),
        (lambda: make_env("Taxi-v4", fickle_passenger=True), NoTable, "fickle passenger of Taxi"),
        (
            lambda: TransformReward(make_env("FrozenLake-v1"), lambda r: 2 * r),
            NoTable,
            "TransformReward changes the environment, but its table P stays",
        ),
        (
            lambda: Walk({s: {a: [(1.0, 7, 0.0, False)] for a in (0, 1)} for s in (0, 1)}),
            ValueError,
            "P[0][0] of Walk leads to 7: states are 0 to 1",
        ),
        (
            lambda: Walk({s: {a: [(0.5, 0, 0.0, False)] for a in (0, 1)} for s in (0, 1)}),
            ValueError,
            "P[0, 0] sums to 0.5, not 1",
        ),
        (lambda: 3, ValueError, "3 is not a Gymnasium environment, nor the id of one"),
    ],
)
def test_environments_that_cannot_be_read(build, kind, message):
    with pytest.raises(kind) as error:
        gim.from_gymnasium(build(), horizon=5)
    assert message in str(error.value)


def test_a_simulated_taxi_agrees_with_its_table():
    """The conversion against the environment itself, not only against its table."""
    env = make_env("Taxi-v4", is_rainy=True)
    mdp = gim.from_gymnasium(env)
    rng = np.random.default_rng(0)
    rows = mdp.to_dense()
    s, _ = env.reset(seed=0)
    for _ in range(3000):
        a = int(rng.integers(6))
        t, r, terminated, truncated, _ = env.step(a)
        assert rows.transitions[s, a, t] > 0
        assert terminated == mdp.terminal[t]
        paid = rows.rewards if rows.rewards_next is None else rows.rewards_next[:, :, t]
        assert r == paid[s, a]
        s = env.reset()[0] if terminated or truncated else t
