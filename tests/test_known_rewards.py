"""Rewards known beforehand: `gim.run(rewards=...)`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import gim
from gim.model.rewards import by_function, by_pair, by_triple, payments
from gim.runs.agent import Agent, agents

MODEL_BASED = [n for n in agents.names() if type(agents.make(n)).belief is not Agent.belief]


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_payments_agree_with_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    S, A = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    N = rng.integers(0, 4, (S, A, S)) * (rng.random((S, A, S)) < 0.6)
    n, r = N.sum(axis=2).astype(float), rng.normal(size=(S, A, S))
    listed = rng.random((S, A, S)) < 0.7
    rows = sparse.csr_array(N.reshape(S * A, S).astype(float))
    table = sparse.csr_array(listed.reshape(S * A, S) * 1.0)
    pair = np.repeat(np.arange(S * A), np.diff(table.indptr))
    table.data = r.reshape(S * A, S)[pair, table.indices]
    other = rng.normal(size=(S, A))
    R, R2, visits = payments(by_triple(table, other), (rows.data, rows.indices, rows.indptr), n)
    for s in range(S):
        for a in range(A):
            pays = np.where(listed[s, a], r[s, a], other[s, a])
            if n[s, a] == 0:
                assert (R[s, a], visits[s, a]) == (other[s, a], 1)
                assert np.isclose(R2[s, a], other[s, a] ** 2)
            else:
                assert np.isclose(R[s, a], N[s, a] @ pays)
                assert np.isclose(R2[s, a], N[s, a] @ pays**2)
                assert visits[s, a] == n[s, a]


def test_the_forms_agree():
    rng = np.random.default_rng(0)
    r = rng.normal(size=(3, 2, 3))
    dense, asked = by_triple(r), by_function(lambda s, a, t: r[s, a, t], range(3), range(2))
    for one, other in zip(dense, asked, strict=True):
        assert np.allclose(one, other)
    assert by_pair(r[:, :, 0]).range == (r[:, :, 0].min(), r[:, :, 0].max())
    assert dense.range == (r.min(), r.max())


@pytest.mark.parametrize("name", MODEL_BASED)
def test_every_agent_with_a_model_takes_them(name):
    """A world whose rewards lie is believed: what is known stands above what is seen."""
    mdp = gim.make("riverswim")
    lie = np.where(mdp.rewards > 0, 0.0, 0.0)
    lie[2, 0] = 1.0
    run = gim.run(name, mdp, 30, rewards=lie)
    belief = run.agent.belief(run.memory)
    met = belief.counts.n > 0
    seen = belief.evidence()
    assert np.allclose((seen.R / np.maximum(seen.n_r, 1e-300))[met], lie[met])
    if run.model is not None:
        assert np.allclose(run.model.rewards[met], lie[met])


def test_known_rewards_are_those_of_the_world_by_next_state():
    mdp = gim.make("gridworld")
    assert mdp.rewards_next is not None
    run = gim.run("analogist", mdp, 300, rewards="known")
    n = run.agent.belief(run.memory).counts.n
    often = n > 200
    assert often.any()
    r = run.model.rewards
    P = run.model.transitions
    expected = (P * mdp.rewards_next).sum(axis=2)
    assert np.allclose(r[often], expected[often])


def test_knowing_rewards_helps_where_they_are_hidden():
    """In a world with one button, who knows in which cell it is goes there."""
    learned, known = (
        np.mean(gim.run("analogist", "button", 6, seeds=range(4), rewards=how).returns)
        for how in ("learn", "known")
    )
    assert known > 2 * learned


def test_functions_take_labels():
    seen = set()

    def paid(s, a, t):
        seen.add((type(s), a))
        return float(t == "(4,4)")

    mdp = gim.make("gridworld")
    run = gim.run("ucbvi", mdp, 20, rewards=paid)
    assert {kind for kind, _ in seen} == {str}
    assert {a for _, a in seen} == set(mdp.action_labels)
    assert run.task.reward_range[0] == 0.0


def test_a_run_with_known_rewards_goes_on_from_its_file(tmp_path):
    whole = gim.run("analogist", "gridworld", 60, rewards="known")
    half = gim.run("analogist", "gridworld", 60, rewards="known", callback=lambda report: True)
    half.save(tmp_path / "run.npz")
    again = gim.run(resume=tmp_path / "run.npz")
    assert (again.returns == whole.returns).all()
    assert again.task.rewards is not None


@pytest.mark.parametrize(
    ("rewards", "words"),
    [
        ("guess", '"learn", "known"'),
        (np.zeros((2, 2)), r"shape \(2, 2\): give an array \[6, 2\]"),
        (np.full((6, 2), np.nan), "not finite"),
        ([["a", "b"]], "not numbers"),
        (lambda s, a, t: "much", "returned 'much'"),
    ],
)
def test_what_is_no_reward_is_refused(rewards, words):
    with pytest.raises(ValueError, match=words):
        gim.run("ucbvi", "riverswim", 5, rewards=rewards)


def test_who_learns_no_model_says_so():
    with pytest.raises(ValueError, match="learns no model"):
        gim.run("q_learning", "riverswim", 5, rewards="known")


def test_the_command_line_takes_them(capsys):
    from gim.cli import main

    assert main(["train", "riverswim", "--episodes", "20", "--rewards", "known"]) == 0
    assert main(["train", "riverswim", "--agent", "q_learning", "--rewards", "known"]) == 2
    assert "learns no model" in capsys.readouterr().err
