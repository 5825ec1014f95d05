"""What `available=` bans is played by nothing that is learned, recommended, kept or run."""

from __future__ import annotations

import numpy as np
import pytest

import gim
from gim.logs import held_out
from gim.logs.bans import restricted
from gim.logs.page import page
from gim.logs.safe import METHODS, Safe
from gim.model.deploy import planned
from gim.runs.agent import agents
from tests.family_worlds import shop_log

MOST = 4  # pieces that an order may have; the shop's habit goes beyond


def read(rows, **options):
    return gim.from_log(rows, available=lambda stock, order: order <= MOST, **options)


@pytest.fixture(scope="module")
def log():
    found = read(shop_log(200))
    assert found.banned > 0.1 * len(found)
    return found


@pytest.fixture(scope="module")
def long():
    """One in which inference convinces."""
    found = read(shop_log(rows=2000))
    assert gim.learn(found, horizon=30).behind.belief.prior.speaks
    return found


def chances(policy, A):
    """Any of the four forms as probabilities [H or 1, S, A]."""
    array = np.asarray(policy)
    array = np.eye(A)[array] if array.dtype.kind == "i" else array
    return array.reshape(-1, *array.shape[-2:])


def assert_allowed(policy, log):
    """By label, with nothing of the log's own idea of what is banned."""
    each = chances(policy, log.A)
    np.testing.assert_allclose(each.sum(axis=2), 1)
    assert not each[:, :, [order > MOST for order in log.actions]].any()


@pytest.mark.parametrize("over", [{"horizon": 30}, {"discount": 0.9}])
@pytest.mark.parametrize("infer", ["analogy", None])
@pytest.mark.parametrize("safe", [*METHODS, None])
def test_nothing_that_is_banned_is_played_by_any_method(safe, infer, over, log):
    check_learned(gim.learn(log, safe=safe, infer=infer, **over), log, over.get("horizon", 1))


@pytest.mark.parametrize("safe", [*METHODS, None])
def test_nor_where_inference_convinces(safe, long):
    check_learned(gim.learn(long, safe=safe, horizon=30), long, 30)


def check_learned(learned, log, steps):
    assert_allowed(learned.policy, log)
    assert_allowed(learned.behind.case.baseline, log)
    assert learned.wanted
    assert all(each.action <= MOST for each in learned.wanted)
    for step in range(steps):
        for s in log.states:
            assert learned.policy(s, step) <= MOST
    assert not learned.behind.supported[:, [a > MOST for a in log.actions]].any()


def test_nor_by_what_is_saved_and_loaded(log, tmp_path):
    learned = gim.learn(log, horizon=30)
    for name, save in (("p.csv", "to_csv"), ("p.json", "to_json"), ("p.npz", "save")):
        getattr(learned.policy, save)(tmp_path / name)
        again = gim.load(tmp_path / name)
        assert_allowed(again, log)
        assert np.array_equal(np.asarray(again), np.asarray(learned.policy))
    learned.model.save(tmp_path / "model.npz")
    model = gim.load(tmp_path / "model.npz")
    for policy in (model.plan().policy, planned(model), model.uniform_policy()):
        assert_allowed(policy, log)
    assert_allowed(model.plan(discount=0.9, horizon=None).policy, log)
    played = gim.run("analogist", model, episodes=20, seed=0)
    assert_allowed(played.best_policy(), log)


def test_nor_by_a_certificate(log):
    learned = gim.learn(log, horizon=30)
    certificate = gim.certify(learned)
    assert_allowed(certificate.policy, log)
    assert_allowed(planned(certificate.model), log)
    assert not certificate.unbounded[:, [a > MOST for a in log.actions]].any()


@pytest.mark.parametrize("kind", ["credible", "guaranteed"])
def test_the_best_that_a_certificate_compares_with_is_allowed(kind):
    rows = [("x", "bad", 10.0, "x"), ("x", "good", 1.0, "x")] * 10_000
    told = {"start": "x", "reward_range": (0, 10)}
    learned = gim.learn(gim.from_log(rows, available={"x": ["good"]}, **told), horizon=10)
    certificate = gim.certify(learned, kind=kind)
    free = gim.learn(gim.from_log(rows, **told), horizon=10)
    assert certificate.upper < 20 < gim.certify(free, kind=kind).upper
    assert certificate.loss < 10
    assert learned.value.estimate == pytest.approx(10)
    assert learned.wanted == []


def test_the_habit_is_the_baseline_as_far_as_it_is_allowed(log):
    learned, may = gim.learn(log, horizon=30, infer=None), np.array(log.actions) <= MOST
    for s in range(log.S):
        left = np.where(may, log.counts.n[s], 0)
        expected = left / left.sum() if left.any() else may / may.sum()
        np.testing.assert_allclose(learned.behind.case.baseline[s], expected)
    assert_allowed(log.policy(), log)
    assert log.behaviour[:, ~may].sum() > 0  # what was done stays what was done
    said = learned.describe()
    assert "the baseline plays what available= bans in" in said
    assert "it is taken without that, renormalised" in said


def test_a_state_in_which_only_what_is_banned_was_done_has_a_policy_and_a_note():
    rows = [("low", "big", 3.0, "high"), ("high", "wait", 1.0, "low")] * 20
    rows += [("high", "small", 0.5, "low")]
    bans = {"low": ["small", "wait"], "high": ["wait", "small"]}
    log = gim.from_log(rows, available=bans, start="high", reward_range=(0, 3))
    learned = gim.learn(log, horizon=6, infer=None)
    low = log.states.index("low")
    assert learned.behind.case.baseline[low].tolist() == [0, 0.5, 0.5]
    assert {learned.policy("low", h) for h in range(6)} == {"small"}  # the first of equals
    for text in (learned.describe(), page(learned, "log")):
        assert (
            "in state &#x27;low&#x27; nothing" in text or "in state 'low' nothing" in text.lower()
        )
        assert "where nothing is left" in text
    assert learned.unseen == 1
    assert "never tried  1 of the pairs that the policy plays: it plays them as the baseline" in (
        learned.describe()
    )
    opening = page(learned, "log").split("</p>")[0]
    assert "than what was done so far, without what is banned now (" in opening
    assert "It plays 1 pair of a state and an action that nobody has tried yet." in opening
    # Of what is not known the least is expected, so the better half is a stay in "high".
    assert learned.value.upper < 40


def test_what_is_banned_still_says_how_the_world_works():
    """Orders of seven predict those of five: with their rows left out there is less to go by."""
    rows = shop_log(rows=3000)
    log = gim.from_log(rows, available=lambda stock, order: order <= 5)
    poorer = gim.from_log([row for row in rows if row[1] <= 5], available="all")
    free = gim.from_log(rows)
    assert log.counts.n.sum() == 3000 > poorer.counts.n.sum()
    assert np.array_equal(log.counts.n, free.counts.n)
    one, other = gim.learn(log, horizon=30), gim.learn(free, horizon=30)
    may = log.allowed
    assert np.array_equal(one.behind.belief.prior.n0[may], other.behind.belief.prior.n0[may])
    assert one.behind.belief.prior.speaks


def test_rows_that_break_a_ban_are_counted_and_said(log):
    assert log.banned == sum(log.actions[a] > MOST for a in log.rows.a)
    learned = gim.learn(log, horizon=30)
    line = f"banned       {log.banned} rows with what available= leaves out: they count as"
    assert line in log.describe()
    assert f"{log.banned} rows with what available= leaves out" in page(learned, "shop")
    assert "the baseline plays what available= bans" in page(learned, "shop")
    assert "banned" not in gim.from_log(shop_log(200)).describe()
    assert gim.from_log(shop_log(200), available="all").banned == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({0: [1]}, r"available= bans every action of \d+ states \(1, 2, 3, 4, 5, \.\.\.\)"),
        (
            lambda s, a: s != 7,
            "available= bans every action of state 7: allow one that the log has",
        ),
        (lambda s, a: a == 12, "available= bans every action of"),
    ],
)
def test_a_state_without_any_action_is_an_error_with_its_label(given, message):
    with pytest.raises(ValueError, match=message) as problem:
        gim.from_log(shop_log(200), available=given)
    assert "\n" not in str(problem.value)
    table = np.ones((14, 8), bool)
    table[3] = False
    with pytest.raises(ValueError, match="bans every action of state 3"):
        gim.from_log(shop_log(200), available=table)


def test_at_an_end_nobody_needs_an_action():
    rows = [("a", "go", 1.0, "b", False), ("b", "go", 1.0, "c", True), ("a", "hop", 2.0, "c", True)]
    log = gim.from_log(rows * 3, done="done", available={"a": ["go"], "b": ["go"]})
    learned = gim.learn(log, infer=None, horizon=4)
    assert [learned.policy(s) for s in "ab"] == ["go", "go"]
    assert learned.value.estimate == pytest.approx(2.0)
    rows = [(0, 1, 1.0, 1, False), (1, 1, 1.0, None, True)] * 3
    log = gim.from_log(rows, done="done", available=lambda s, a: s + a < 4)  # no "(end)" + 1
    assert log.states[-1] == "(end)"
    assert log.allowed.all()


def test_a_policy_that_plays_what_is_banned_is_not_evaluated(log):
    learned = gim.learn(log, horizon=30)
    for given in (log.behaviour, lambda stock: 7 if stock < 3 else 0):
        with pytest.raises(ValueError, match="the policy plays what available= of the log bans in"):
            learned.against(given)
    assert learned.against(lambda stock: 2).estimate < np.inf
    columns = dict(zip(("s", "a", "r", "s2"), zip(*shop_log(rows=200), strict=True), strict=True))
    parts = gim.learn(read(columns | {"e": np.arange(200) // 20}, episode="e"), infer=None)
    assert set(parts.evaluated()) == {"importance sampling", "doubly robust"}
    with pytest.raises(ValueError, match="plays what available= of the log bans"):
        parts.evaluated(lambda stock: 7)
    assert len(held_out(parts.log, infer=None)) == 2


def test_a_baseline_is_taken_without_what_is_banned_and_that_is_said(log):
    learned = gim.learn(
        log, horizon=30, baseline=lambda stock: 7 if stock == 2 else 1, safe="spibb"
    )
    assert_allowed(learned.behind.case.baseline, log)
    assert learned.behind.case.baseline[log.states.index(2)].tolist() == [0.2] * 5 + [0] * 3
    assert_allowed(learned.policy, log)
    assert any(
        "the baseline plays what available= bans in state 2:" in n for n in learned.behind.notes
    )


def test_a_method_of_ones_own_that_forgets_bans_is_refused(log):
    class Careless(Safe):
        def backup(self, case, made, v, h):
            return case.r

        def choose(self, case, made, q):
            return np.full(len(q), 7)

    with pytest.raises(
        ValueError, match="the safe policy Careless plays what available= of the log"
    ):
        gim.learn(log, horizon=5, safe=Careless(), infer=None)


def test_restricted_is_a_plain_loop():
    rng = np.random.default_rng(0)
    given, may = rng.dirichlet(np.ones(4), 30), rng.random((30, 4)) < 0.5
    may[:, 0] |= ~may.any(axis=1)
    given[3] = [1, 0, 0, 0]
    may[3] = [False, True, True, False]
    for row, mask, found in zip(given, may, restricted(given, may), strict=True):
        left = sum(row[mask])
        expected = [p / left * m if left else m / sum(mask) for p, m in zip(row, mask, strict=True)]
        np.testing.assert_allclose(found, expected)
    assert np.array_equal(restricted(given, np.ones_like(may)), given)


# -- the same for tables


def _all_pairs():
    P = np.zeros((5, 3, 5))
    for s in range(5):
        P[s, 0, max(0, s - 1)] = P[s, 1, min(4, s + 1)] = P[s, 2, s] = 1.0
    return P


def _pays():
    R = np.full((5, 3), 0.1)
    R[np.arange(5), np.arange(5) % 3] = 1.0
    return R


def masked_world():
    """A corridor in which the banned action would pay best, everywhere."""
    may = np.ones((5, 3), bool)
    may[np.arange(5), np.arange(5) % 3] = False
    return gim.TabularMDP(_all_pairs(), _pays() * may, horizon=6, available=may)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", agents.names())
def test_no_agent_plays_or_recommends_what_its_world_bans(name, tmp_path):
    mdp = masked_world()
    run = gim.run(name, mdp, 40, seed=1)
    run.save(tmp_path / "run.npz")
    for each in (run, gim.load(tmp_path / "run.npz")):
        for policy in (each.policy, each.best_policy()):
            if policy is not None:
                assert not chances(policy, mdp.A)[:, ~mdp.available].any()
        belief = each.agent.belief(each.memory)
        if belief is not None:
            assert not belief.counts.n[~mdp.available].any()
        model = each.model
        if model is not None:
            assert not model.available[~mdp.available].any()
            assert not chances(planned(model), mdp.A)[:, ~mdp.available].any()
    each = run.best_policy()
    each.to_csv(tmp_path / "p.csv")
    again = gim.load(tmp_path / "p.csv")
    assert not chances(again, mdp.A)[:, ~mdp.available].any()


@pytest.mark.parametrize("agent", ["analogist", "ucbvi", "psrl"])
def test_what_was_learned_where_more_was_allowed_lifts_no_ban(agent):
    mdp = masked_world()
    free = mdp.with_(available=np.ones((5, 3), bool), transitions=_all_pairs(), rewards=_pays())
    before = gim.run(agent, free, 60, seed=0)
    run = gim.run(agent, mdp, 60, seed=1, prior=before.model)
    for policy in (run.policy, run.best_policy(), gim.certify(run).policy):
        assert not chances(policy, mdp.A)[:, ~mdp.available].any()
    seen = run.agent.belief(run.memory).counts.n[~mdp.available]
    assert np.array_equal(seen, before.model.visits[~mdp.available] * (agent != "analogist"))
    free_best = before.best_policy()
    assert chances(free_best, mdp.A)[:, ~mdp.available].any()  # which would have paid
    with pytest.raises(ValueError, match="not available"):
        mdp.policy_return(free_best)
    log = gim.from_log([(0, 0, 1.0, 1)] * 5)
    with pytest.raises(ValueError, match="which the world does not allow"):
        gim.run(agent, mdp, 5, seed=0, prior=log)
