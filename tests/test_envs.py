"""The tasks: entries checked by hand, simulation against the exact model, Gymnasium's rules."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import gim
from gim.envs import TabularEnv, make, tasks
from gim.mdp.sampling import TERMINATED, begin, noisy_step, step

IDS = {  # by the name of the task
    spec.kwargs["task"]: name
    for name, spec in gymnasium.registry.items()
    if spec.entry_point == "gim.envs.tabular:TaskEnv" and name.startswith("gim/")
}
MAZE = "S.#G/...S/#G.."
# Small ones for the step-by-step tests, as each task gives them.
SMALL = [word for name in IDS for word in tasks.examples(name)]


# -- names


def test_every_task_is_registered():
    own = [name for name in tasks.names() if tasks.owns(tasks[name])]
    assert sorted(IDS) == own
    for name, gymnasium_id in IDS.items():
        assert gymnasium_id.lower() == f"gim/{name.replace('_', '')}-v0"


def test_make_takes_words_and_parameters():
    by_name, by_word = make("riverswim", length=10), make("riverswim:length=10")
    assert by_name.name == by_word.name == "riverswim:length=10"
    assert by_name.S == 10
    assert make("riverswim", length=6).name == "riverswim"
    assert make("synthetic", seed=np.int64(3)).name == "synthetic:seed=3"


@pytest.mark.parametrize("word", SMALL)
def test_the_name_builds_the_same_task(word):
    mdp = make(word)
    again = make(mdp.name)
    assert mdp.name == word
    assert (mdp.rows() != again.rows()).nnz == 0
    assert (mdp.rewards == again.rewards).all()


@pytest.mark.parametrize("name", ["synthetic", "mixtures", "shared_factors", "gridworld"])
def test_the_seed_fixes_a_random_task_and_changes_it(name):
    one, same, other = make(name, seed=1), make(name, seed=1), make(name, seed=2)
    assert (one.rows() != same.rows()).nnz == 0
    assert (one.start == same.start).all()
    if name == "gridworld":
        assert len({make(name, seed=k).start.argmax() for k in range(50)}) > 10
    else:
        assert (one.rows() != other.rows()).nnz > 0


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("riverswin", "unknown task 'riverswin': did you mean 'riverswim'?"),
        ("riverswim:lenght=3", "task riverswim has no parameter 'lenght': did you mean 'length'?"),
        ("riverswim:length=1", "riverswim: length = 1: must be at least 2"),
        ("riverswim:length=2.5", "riverswim: length = 2.5: must be a whole number"),
        ("gridworld:slip=1.2", "gridworld: slip = 1.2: must be at most 1"),
        ("gridworld:map=S.x", "cell (1,3) of the map is 'x'"),
        ("gridworld:map=S../..", "row 2 of the map has 2 cells, row 1 has 3"),
        ("gridworld:map=##/##", "the map has walls only"),
        ("gridworld:map=S.G,height=5", "leave height and width out"),
        ("gridworld:map=S.G,start=1", "leave start out, or take S away"),
        ("gridworld:map=GG,terminal_goals=true", "every cell ends the episode"),
        ("gridworld:start=16", "start = 16 is out of range: states are 0 to 15"),
        ("gridworld:start=5,terminal_goals=true", "state 5 is terminal but an episode may start"),
        ("synthetic:rank=11", "synthetic: rank = 11: an 20 x 10 matrix has at most 10"),
        ("synthetic:mu0=2,mu1=2", "give mu0 or mu1, not both"),
        ("synthetic:mu0=10.5", "synthetic: mu0 = 10.5: at rank 2 it is at most 10"),
        ("synthetic:mu0=0.5", "synthetic: mu0 = 0.5: must be at least 1"),
        ("synthetic:mu1=11", "synthetic: mu1 = 11: at rank 2 it is at most 10"),
        ("synthetic:mu1=0.6", "synthetic: mu1 = 0.6: random matrices have about"),
        ("synthetic:rewards=both", "rewards = 'both': must be one of pair, state"),
        ("mixtures:rank=11", "mixtures: rank = 11: an 20 x 10 matrix has at most 10"),
        ("shared_factors:shared=both", "must be one of state, action"),
        ("inventory:lead=9", "(due_8) = 40,508,282,375,631: make one of them smaller"),
        ("inventory:lead=2", "inventory: a table of 24,087,861 probabilities"),
        ("inventory2:capacity=50", "inventory2: a table of 169,130,025 probabilities"),
        ("stock_trading:sectors=5", "stock_trading: a table of 369,098,752 probabilities"),
        ("maintenance:levels=1000000000", "1000000000 (wear) = 3,000,000,000: make one of them"),
        ("sysadmin:machines=12", "sysadmin: machines = 12: must be at most 11"),
        ("sysadmin:topology=bus", "must be one of ring, star"),
        ("walls:size=3,walls=7", "only 6 fit in a grid of 3 x 3"),
        ("teleports:size=3,teleports=8", "only 7 cells are no goals"),
        ("taxi:size=2", "taxi: size = 2: must be at least 3"),
        ("wet_chicken:turbulence=2", "wet_chicken: turbulence = 2.0: must be at least 3"),
        ("garnet:S=1000000000", "garnet: a table of 24,000,000,000 probabilities"),
        ("linear:S=100000", "linear: a table of 200,000,000,000 probabilities"),
        ("garnet:S=3", "branching = 4 of S = 3 states: give S at the most"),
        ("gate:S=10", "behind = 10 of S = 10 states: leave two before the gate"),
        ("duplicates:copies=3", "copies = 3 does not divide A = 20"),
    ],
)
def test_errors_name_the_culprit_and_the_fix(word, message):
    with pytest.raises(ValueError) as error:
        make(word)
    assert message in str(error.value)


# -- entries


def test_riverswim_as_in_the_facts():
    mdp = make("riverswim")
    P = mdp.transitions
    assert (mdp.S, mdp.A, mdp.horizon) == (6, 2, 20)
    assert mdp.start.tolist() == [0, 0, 1, 0, 0, 0]
    assert P[:, 0].tolist() == [[float(t == max(s - 1, 0)) for t in range(6)] for s in range(6)]
    assert P[0, 1].tolist() == [0.7, 0.3, 0, 0, 0, 0]
    for s in range(1, 5):
        assert P[s, 1, s - 1 : s + 2].tolist() == [0.1, 0.6, 0.3]
    assert P[5, 1].tolist() == [0, 0, 0, 0, 0.7, 0.3]
    assert mdp.rewards[0, 0] == 5
    assert mdp.rewards[5, 1] == 3000
    assert np.count_nonzero(mdp.rewards) == 2
    assert make("riverswim", length=2).start.tolist() == [0, 1]
    assert make("riverswim", length=3).start.tolist() == [0, 0, 1]


def test_casinoland_as_in_the_facts():
    mdp = make("casinoland")
    P, r = mdp.transitions, mdp.rewards
    assert (mdp.S, mdp.A, mdp.horizon, mdp.start[0]) == (8, 4, 10, 1)
    goes = P.argmax(axis=2)
    assert goes[:4].tolist() == [[0, 4, 1, 0], [1, 5, 2, 0], [2, 6, 3, 1], [3, 7, 3, 2]]
    assert (P[:4].max(axis=2) == 1).all()
    for i, (chance, pays) in enumerate([(0.4, 79.5), (0.5, 80), (0.2, 100), (0.9, 64.998)]):
        lever = 4 + i
        assert P[lever, 0, i] == P[lever, 2, lever] == P[lever, 3, lever] == 1
        assert P[lever, 1, i] == chance
        assert P[lever, 1, lever] == pytest.approx(1 - chance)
        assert r[lever] == pytest.approx([0, pays, -100, 0])
    assert not r[:4].any()


def test_table1_is_the_papers():
    mdp = make("table1")
    to_2 = mdp.transitions[:, :, mdp.state_labels.index(2)]
    assert mdp.action_labels == ("up", "down", "left", "right")
    assert mdp.state_labels == (1, 2, 3, 4, 5, 6)
    table = {
        1: [0.2, 0.2, 0, 0.6],
        2: [0.6, 0, 0.2, 0.2],
        3: [0.2, 0.2, 0.6, 0],
        4: [0, 0, 0, 0],
        5: [0.6, 0, 0.2, 0.2],
        6: [0, 0, 0, 0],
    }
    assert to_2 == pytest.approx(np.array([table[label] for label in mdp.state_labels]), abs=1e-15)
    assert np.linalg.matrix_rank(to_2) == 3
    assert not mdp.rewards.any()


def test_gridworld_as_in_the_facts():
    mdp = make("gridworld")
    P, paid = mdp.transitions, mdp.rewards_next
    assert (mdp.S, mdp.A, mdp.horizon) == (16, 4, 10)
    assert mdp.start.max() == 1
    assert not mdp.terminal.any()
    up, down, left, right = range(4)
    corner, goal, above = 0, 5, 1  # (1,1), (2,2), (1,2)
    assert P[corner, up] == pytest.approx(np.bincount([0, 0, 1], [0.6, 0.2, 0.2], 16))
    assert P[above, down] == pytest.approx(np.bincount([goal, 0, 2], [0.6, 0.2, 0.2], 16))
    assert P[goal, left] == pytest.approx(np.bincount([4, 1, 9], [0.6, 0.2, 0.2], 16))
    assert P[15, right] == pytest.approx(np.bincount([15, 11, 15], [0.6, 0.2, 0.2], 16))
    for s, a, t in np.argwhere(P > 0):
        assert paid[s, a, t] == pytest.approx(0.8 if t in (5, 10) else -0.2)
    assert mdp.rewards[above, down] == pytest.approx(0.6 * 0.8 - 0.4 * 0.2)


@pytest.mark.parametrize(
    ("shape", "goals"),
    [((3, 3), [4, 8]), ((5, 6), [7, 14]), ((2, 3), [4, 5]), ((1, 4), [1, 2]), ((1, 1), [0])],
)
def test_goals_of_other_sizes(shape, goals):
    mdp = make("gridworld", height=shape[0], width=shape[1])
    assert [s for s, c in enumerate(mdp.info["layout"]["symbols"]) if c == "G"] == goals


def test_a_map_with_walls_starts_and_terminal_goals():
    mdp = make("gridworld", map=MAZE, slip=0.0, cost=0.5, goal_reward=3, terminal_goals=True)
    #  S . # G      0 1 # 2
    #  . . . S  ->  3 4 5 6
    #  # G . .      # 7 8 9
    assert mdp.S == 10
    assert mdp.start.tolist() == [0.5, 0, 0, 0, 0, 0, 0.5, 0, 0, 0]
    assert np.flatnonzero(mdp.terminal).tolist() == [2, 7]
    goes = mdp.transitions.argmax(axis=2)
    assert goes[1].tolist() == [1, 4, 0, 1]  # up and right are walls
    assert goes[6].tolist() == [2, 9, 5, 6]
    assert goes[8].tolist() == [5, 8, 7, 9]
    assert mdp.rewards[6].tolist() == [2.5, -0.5, -0.5, -0.5]
    assert mdp.rewards[2].tolist() == [0, 0, 0, 0]
    assert mdp.state_labels[4] == "(2,2)"
    newlines = make("gridworld", map="\nS.#G\n...S\n#G..\n", slip=0.0)
    assert newlines.S == 10


def test_a_large_grid_is_sparse():
    mdp = make("gridworld", height=40, width=50)
    assert mdp.sparse
    assert mdp.S == 2000
    assert mdp.to_sparse().rewards[51 - 50, 1] == pytest.approx(0.6 * 0.8 - 0.4 * 0.2)


# -- simulation against the exact model


def states_by_step(mdp):
    """Distribution of the state after h steps of the uniform policy [H + 1, S]; ends stay."""
    flow = np.einsum("sa,sat->st", mdp.uniform_policy(), mdp.to_dense().transitions)
    shares = [mdp.start]
    for _ in range(mdp.horizon):
        shares.append(shares[-1] @ flow)
    return np.array(shares)


@pytest.mark.parametrize("word", ["riverswim", f"gridworld:map={MAZE},terminal_goals=true"])
def test_visits_agree_with_the_forward_pass(word):
    mdp = make(word)
    visits = mdp.expected_visits(mdp.uniform_policy())
    exact = states_by_step(mdp)[:-1]
    alive = ~mdp.terminal
    assert visits.sum(axis=2)[:, alive] == pytest.approx(exact[:, alive], abs=1e-12)


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_environment_draws_the_bits_of_the_compiled_kernels(noise):
    mdp = make("gridworld", map=MAZE, terminal_goals=True).with_(noise=noise)
    env, rng, actions = mdp.to_gymnasium(), np.random.default_rng(7), np.random.default_rng(8)
    seed, draw = 7, step if mdp.noise is None else noisy_step
    for _ in range(50):
        (s, _), seed = env.reset(seed=seed), None
        assert s == begin(mdp.world, rng)
        over = False
        while not over:
            a = int(actions.integers(mdp.A))
            expected = draw(mdp.world, s, a, rng)
            s, r, terminated, truncated, _ = env.step(a)
            assert (s, r, TERMINATED * terminated) == expected
            over = terminated or truncated
    assert env.np_random.bit_generator.state == rng.bit_generator.state


# -- Gymnasium


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_accepts_every_task(name):
    env = gymnasium.make(IDS[name])
    check_env(env.unwrapped)
    assert env.unwrapped.mdp.name == env.spec.kwargs["task"]
    for mode in ("ansi", "rgb_array"):
        shown = gymnasium.make(IDS[name], render_mode=mode)
        shown.reset(seed=0)
        frame = shown.render()
        assert isinstance(frame, str) if mode == "ansi" else frame.dtype == np.uint8
    doc = tasks[env.spec.kwargs["task"]].__doc__
    parts = ("Description", "Action Space", "Observation Space", "Starting State", "Rewards")
    for part in (*parts, "Episode End", "Arguments", "Version History"):
        assert f"## {part}" in doc


def test_gymnasium_passes_parameters_on():
    env = gymnasium.make("gim/RiverSwim-v0", length=9, horizon=3)
    assert env.observation_space.n == 9
    env.reset(seed=0)
    ends = [env.step(0)[3] for _ in range(3)]
    assert ends == [False, False, True]
    assert gym_json(env) == 9
    with pytest.raises(ValueError, match="did you mean 'length'"):
        gymnasium.make("gim/RiverSwim-v0", lenght=9)


def gym_json(env):
    """The spec survives JSON, so that a run can name its world."""
    spec = gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())
    return gymnasium.make(spec).observation_space.n


def test_the_environment_refuses_what_it_must():
    open_pairs = np.array([[True, False], [True, True]])
    mdp = gim.TabularMDP(np.full((2, 2, 2), 0.5), np.zeros((2, 2)), available=open_pairs, horizon=2)
    env = mdp.to_gymnasium()
    with pytest.raises(ValueError, match="call reset"):
        env.step(0)
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 0]
    with pytest.raises(ValueError, match="action 1 is not available in state 0: choose from 0"):
        env.step(1)
    with pytest.raises(ValueError, match="action 2 is out of range: give 0 to 1"):
        env.step(2)
    env.step(0)
    env.step(0)
    with pytest.raises(ValueError, match="call reset"):
        env.step(0)
    with pytest.raises(ValueError, match="cannot start in state 2"):
        env.reset(options={"state": 2})
    with pytest.raises(ValueError, match="render_mode = 'human': must be one of ansi, rgb_array"):
        TabularEnv(mdp, render_mode="human")
    with pytest.warns(UserWarning, match="render"):
        assert env.render() is None
