"""What enters from outside is checked before compiled code sees it."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import gim
from gim._compile.jit import bind, checked, hot
from gim._compile.memory import flatten, rebuild, trusted
from gim.agents.optimal import Optimal
from gim.logs.loading import load
from gim.mdp.sparse_tables import own_csr
from gim.model.counts import new_counts
from gim.model.learned import LearnedModel
from gim.paper.walks.base import explorations
from gim.paper.walks.tournament import Tournament
from gim.runs.agent import agents
from gim.runs.loop import interact
from gim.runs.run import prepare, task_of, unpack_run
from gim.runs.stepwise import converse
from gim.testing.agents import small_worlds
from tools.robustness.run_files import Case, cases, outcome, paused

FULL = small_worlds()[1]  # with terminal states and pairs that are not available


# -- actions


@hot
def act_first(memory: Any, s: int, h: int, rng: Any) -> int:
    return 0


@hot
def act_far(memory: Any, s: int, h: int, rng: Any) -> int:
    return 3 + 1_000_000_000 * h


@hot
def act_below(memory: Any, s: int, h: int, rng: Any) -> int:
    return -1


@hot
def learn_strangely(
    memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any
) -> int:
    return 7


def run_with(act, learn=gim.Random.learn, world=FULL):
    run = prepare(gim.Random(), world, 50, 0)
    run._driver.play = bind(interact, act.__name__, act=act, learn=learn)
    return run


def test_an_unavailable_action_is_an_error_with_state_and_step():
    run = run_with(act_first)
    with pytest.raises(
        ValueError, match=r"step \d of episode \d+: the agent chose action 0 in state 1"
    ):
        run.go()
    h = run.clock.h[0]
    assert run.clock.s[0] == 1
    with pytest.raises(ValueError, match=f"step {h} .* in state 1, .* there are 1, 2;"):
        run.go()  # the run has not gone on, and says so again
    assert not FULL.available[1, 0]


@pytest.mark.parametrize(("act", "a"), [(act_far, 3), (act_below, -1)])
def test_an_action_out_of_range_is_an_error(act, a):
    with pytest.raises(
        ValueError, match=f"step 0 of episode 0: the agent chose action {a} in state"
    ):
        run_with(act).go()


def test_what_learn_may_not_return_is_an_error():
    act = gim.Random.act
    with pytest.raises(ValueError, match="learn returned 7: it must be GO_ON, THINK or GROW"):
        run_with(act, learn_strangely).go()
    run = prepare(gim.Random(), FULL.to_gymnasium(), 5, 0, stepwise=True)
    run._driver.play = bind(converse, "strange", act=act, learn=learn_strangely)
    with pytest.raises(ValueError, match="learn returned 7"):
        run.go()


class Wild(NamedTuple):
    q: NDArray[np.float64]


@hot
def act_outside(memory: Any, s: int, h: int, rng: Any) -> int:
    return int(memory.q[1000 * (s + 1)] > 0)


def test_a_checked_loop_does_not_read_outside_an_array():
    run = prepare(gim.Random(), FULL, 5, 0)
    play = bind(interact, "outside", act=act_outside, learn=gim.Random.learn)
    run._driver.play = play
    run._driver.check_indices()
    run.memory = Wild(np.zeros(3))
    with pytest.raises(ValueError, match="outside an array of the memory"):
        run.go()
    run._driver.play = checked(bind(interact, "Random", act=gim.Random.act, learn=gim.Random.learn))
    run.memory = gim.Random().start(run.task, run.random.agent)
    assert run.go().finished  # what has raised is left behind, the driver is not


# -- sparse tables


def table(**changes):
    """Two states, one action, one successor each."""
    made = sparse.csr_array((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
    for name, value in changes.items():
        setattr(made, name, np.array(value))
    return made


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ({"indices": [0, 2]}, "column 2 in row 1 of a sparse table with 2 columns"),
        ({"indices": [-1, 1]}, "column -1 in row 0"),
        ({"indices": [10**9, 1]}, "column 1000000000"),
        ({"indptr": [0, 2, 1]}, "does not say where its rows begin"),
        ({"indptr": [0, 1, 9]}, "does not say where its rows begin"),
        ({"indptr": [1, 1, 2]}, "does not say where its rows begin"),
        ({"indptr": [0, 2]}, "does not say where its rows begin"),
        ({"indices": [0]}, "does not say where its rows begin"),
    ],
)
def test_a_sparse_table_with_wrong_indices_is_refused(changes, because):
    with pytest.raises(ValueError, match=because):
        gim.TabularMDP(table(**changes), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="rewards"):
        gim.TabularMDP(table(), table(**changes))


def test_other_sparse_forms_are_checked_too():
    coo = sparse.coo_array((np.ones(2), (np.array([0, 1]), np.array([0, 1]))), shape=(2, 2))
    coo.coords[1][0] = 77
    for wrong in (
        coo,
        _with(table().tocsc(), indices=[0, 5]),
        _with(table().tolil(), rows=[[7], [1]]),
    ):
        with pytest.raises(ValueError, match="sparse table"):
            own_csr("transitions", wrong)


def _with(made, **changes):
    for name, value in changes.items():
        if name == "rows":
            made.rows[0] = value[0]
        else:
            setattr(made, name, np.array(value))
    return made


def test_flags_are_not_believed_and_duplicates_add_up():
    P = sparse.csr_array(
        (np.array([0.25, 0.5, 0.25, 1.0]), np.array([1, 0, 1, 1]), np.array([0, 3, 4])),
        shape=(2, 2),
    )
    P.has_sorted_indices = P.has_canonical_format = True  # a lie
    mdp = gim.TabularMDP(P, np.zeros((2, 1)))
    assert mdp.transitions.indices.tolist() == [0, 1, 1]
    assert mdp.transitions.data.tolist() == [0.5, 0.5, 1.0]
    assert P.indices.tolist() == [1, 0, 1, 1]  # the caller's own is left alone


def test_a_list_of_sparse_matrices_must_be_square_and_alike():
    with pytest.raises(ValueError, match=r"transitions\[1\] has shape \(3, 3\)"):
        gim.TabularMDP([table(), sparse.eye_array(3)], np.zeros((2, 2)), axes="ASS")


# -- models


@pytest.mark.parametrize("visits", [-1, 0.5, np.nan, np.inf, 1e300, 2**60])
def test_visits_are_whole_numbers_from_0_on(visits):
    P = np.full((2, 1, 2), 0.5)
    given = np.array([[1.0], [visits]])  # one that is wrong is enough
    with pytest.raises(ValueError, match="visits holds"):
        LearnedModel(P, np.zeros((2, 1)), visits=given, known=np.ones((2, 1), bool))


# -- run files


def test_a_saved_policy_holds_actions_only():
    mdp = gim.make("riverswim")
    memory = Optimal().start(task_of(mdp), np.random.default_rng(0))
    for policy in ([0, 1], [1, 0]):
        saved = flatten(memory) | {"policy": np.resize(policy, memory.policy.shape)}
        assert np.array_equal(rebuild(memory, saved).policy, saved["policy"])
    for wrong in (-1, mdp.A):
        with pytest.raises(ValueError, match="'policy'"):
            rebuild(memory, flatten(memory) | {"policy": np.full(memory.policy.shape, wrong)})


@pytest.mark.parametrize("spec", ["q_learning", "psrl"])
def test_a_changed_run_file_is_refused_or_harmless(spec):
    packed = paused(spec)
    assert outcome(Case("", "", *packed)) == "harmless"
    rng = np.random.default_rng(2)
    made = list(cases(packed, rng))
    seen: dict[str, int] = {}
    for i in rng.permutation(len(made)):  # two changes of each array and field
        case = made[i]
        seen[case.place] = seen.get(case.place, 0) + 1
        if seen[case.place] <= 2:
            assert outcome(case) in ("refused", "harmless"), case[:2]
    assert {f"memory.{name}" for name in flatten(unpack_run(*packed).memory)} <= seen.keys()


def test_what_no_run_leaves_behind_is_named():
    arrays, meta = paused("q_learning")
    for name, other, because in [
        ("clock.episode", np.array([99]), "returns has shape"),
        ("clock.h", np.array([99]), "the clock stands at episode .*, step 99, .*: no such"),
        ("clock.s", np.array([-1]), "state -1: no such"),
        ("clock.steps", np.array([1]), "the clock counts 1 steps"),
        ("clock.steps", np.array([1.0]), "no fitting 'clock.steps'"),
        ("clock.total", np.array([np.inf]), "not finite"),
        ("clock", np.array([0, 0, 0, 0]), "saved by gim 0.1.0"),
        ("memory.best", np.full(5, 3), "has 3 in 'best', where a run leaves numbers from 0 to 2"),
        ("memory.best", np.zeros(6, np.int64), "shape"),
        ("memory.alpha", np.array([0.2]), "another 'alpha'"),
        ("memory.q", np.full((5, 3), np.nan), "NaN in 'q'"),
    ]:
        with pytest.raises(ValueError, match=because):
            unpack_run(arrays | {name: other}, meta)
    with pytest.raises(ValueError, match=r"meta\.mind\.plans is -1"):
        unpack_run(arrays, meta | {"mind": meta["mind"] | {"plans": -1}})
    with pytest.raises(ValueError, match=r"meta lacks 'thought'"):
        unpack_run(arrays, {k: v for k, v in meta.items() if k != "thought"})
    with pytest.raises(ValueError, match="should not hold 'more'"):
        unpack_run(arrays, meta | {"more": 1})


def test_a_hash_table_that_would_be_searched_for_ever_is_refused():
    counts = new_counts(2000, 5)._replace(n=np.zeros((2000, 5), np.int64))
    assert counts.keys.size
    assert counts.fault() == ""
    full = counts._replace(keys=np.arange(counts.keys.size), taken=np.array([counts.keys.size]))
    assert "taken" in full.fault()
    keys = counts.keys.copy()
    keys[5] = 3
    lost = counts._replace(keys=keys, taken=np.array([1]))
    assert "not where they are looked for" in lost.fault()


def test_counts_of_which_one_does_not_add_up_are_refused():
    counts = new_counts(3, 2)
    assert counts.fault() == ""
    counts.n[1, 0] = 2
    assert counts.fault() == "next does not add up to n"


def test_every_memory_says_what_it_holds():
    """Where thinking is compiled too, the checked mode of the loop would not be enough."""
    known, walks = (
        [name for name in each.names() if each[name].__module__.startswith("gim.")]
        for each in (agents, explorations)
    )  # not those that other tests have registered
    for spec in (*known, *(f"gim:exploration={walk}" for walk in walks)):
        assert trusted(prepare(agents.make(spec), FULL, 3, 0).memory), spec


def test_a_run_of_a_memory_that_says_nothing_goes_on_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.delattr(Tournament, "limits")
    agent = agents.make("gim:m=3,exploration=curious")
    run = prepare(agent, FULL, 30, 1).pause_at(40)
    assert not trusted(run.memory)
    run.save(tmp_path / "run.npz")
    assert np.array_equal(load(tmp_path / "run.npz", "run").go().returns, run.go().returns)
