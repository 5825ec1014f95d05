"""Off-policy evaluation against its obvious twin, and against the truth where that is known."""

from __future__ import annotations

import numpy as np
import pytest

import gim
from gim.logs.off_policy import Estimate, agreement, doubly_robust, importance_sampling, steps_of
from gim.logs.worth import values_of
from tests.test_learn import river_log


def twin(log, case, policy, values, model):
    """Both estimates by loops over episodes and steps; policy [H, S, A]."""
    H, ends = case.horizon, log.starts + log.lengths
    total = 0.0
    weights = dict.fromkeys(range(len(ends)), 1.0)
    state = {}
    for h in range(H):
        v_sum = v_weight = r_sum = r_weight = 0.0
        for i, (first, end) in enumerate(zip(log.starts, ends, strict=True)):
            over = log.rows.done[end - 1] and log.terminal[log.rows.t[end - 1]]
            at = first + h
            if at < end or (over and at >= end) or at == end:
                here = None if at >= end and over else log.rows.s[at] if at < end else None
                if at == end and not over:
                    here = log.rows.t[end - 1]
                v_sum += weights[i] * (0.0 if here is None else values[h, here])
                v_weight += weights[i]
            if at < end:
                s, a = log.rows.s[at], log.rows.a[at]
                weights[i] *= policy[h, s, a] / log.behaviour[s, a]
                ahead = values[h + 1] if h + 1 < H else np.zeros(log.S)
                q = case.r[s, a] + case.gamma * case.expected(ahead)[s, a]
                r_sum += weights[i] * (log.rows.r[at] - (q if model else 0.0))
                r_weight += weights[i]
            elif over:
                r_weight += weights[i]
        state[h] = weights
        total += case.gamma**h * (r_sum / r_weight if r_weight else 0.0)
        if model:
            total += case.gamma**h * (v_sum / v_weight if v_weight else 0.0)
    return total


def uneven(seed=0, episodes=60):
    """Episodes of one to six steps on three states: some end, some are cut off."""
    rng, rows = np.random.default_rng(seed), []
    for e in range(episodes):
        s = int(rng.integers(2))
        for k in range(6):
            a = int(rng.random() < 0.4)
            t = int(rng.choice(3, p=[0.5, 0.3, 0.2] if a else [0.3, 0.6, 0.1]))
            done = t == 2
            rows.append((e, k, s, a, float(s + a + rng.normal()), t, done))
            s = t
            if done or rng.random() < 0.15:
                break
    names = ("e", "k", "s", "a", "r", "s2", "d")
    return gim.from_log([dict(zip(names, row, strict=True)) for row in rows],
                        episode="e", step="k", done="d")  # fmt: skip


@pytest.mark.parametrize("discount", [None, 0.8])
def test_both_ways_agree_with_loops(discount):
    log = uneven()
    learned = gim.learn(log, infer=None, horizon=6, discount=discount, safe="plain")
    case = learned.behind.case
    rng = np.random.default_rng(1)
    policy = rng.dirichlet(np.ones(2), (6, log.S))
    values = values_of(case, policy)
    steps = steps_of(log, case, policy, values)
    for way, model in ((importance_sampling, False), (doubly_robust, True)):
        got = way(steps, case.gamma, 0)
        assert got.estimate == pytest.approx(twin(log, case, policy, values, model), rel=1e-9)
        assert got.lower <= got.estimate <= got.upper


def test_the_behaviour_is_worth_what_it_earned():
    """Weights are 1: importance sampling is the mean return, and the truth is within."""
    mdp, rows = river_log(4000, seed=2)
    log = gim.from_log(rows, episode="e")
    learned = gim.learn(log, infer=None)
    found = learned.evaluated(log.behaviour)
    assert found["importance sampling"].estimate == pytest.approx(log.returns.mean())
    assert found["doubly robust"].episodes == pytest.approx(len(log.starts))
    true = learned.compare(mdp)["baseline"]
    for each in found.values():
        assert each.lower <= true <= each.upper


def test_doubly_robust_intervals_cover_a_fixed_policy():
    """Of 30 logs about 27 intervals hold the true return of a policy near the behaviour."""
    mdp, _ = river_log(20)
    policy = np.tile([0.2, 0.8], (6, 1))
    true, held = mdp.policy_return(policy), 0
    for seed in range(30):
        log = gim.from_log(river_log(2000, seed + 50)[1], episode="e")
        learned = gim.learn(log, infer=None)
        if log.S == 6:
            one = learned.evaluated(policy)["doubly robust"]
            held += one.lower <= true <= one.upper
    assert held >= 22


def test_discounted_logs_are_evaluated_doubly_robust_only():
    log = gim.from_log(river_log(2000)[1], episode="e")
    learned = gim.learn(log, infer=None, discount=0.9, safe="plain")
    (name,) = learned.evaluated()
    assert name == "doubly robust"
    one = learned.evaluated(log.behaviour)[name]
    v = values_of(learned.behind.case, log.behaviour)
    assert one.estimate == pytest.approx(float(log.start @ v), rel=0.05)


def test_one_episode_says_nothing():
    learned = gim.learn(gim.from_log([("x", "go", 1.0, "x")] * 9), horizon=3)
    assert learned.evaluated() == {}
    assert "stands alone" in learned.agreement


def test_what_nobody_did_cannot_be_told():
    """No episode plays left three times: its return is not that of the steps that were played."""
    log = gim.from_log([("x", "right", 1.0, "x", i % 3 == 2) for i in range(30)]
                       + [("x", "left", 2.0, "x", i % 3 == 2) for i in range(1)], done="done",
                       strict=False)  # fmt: skip
    learned = gim.learn(log, infer=None, horizon=3, safe="plain")
    found = learned.evaluated()
    assert learned.policy("x") == "left"
    assert np.isnan(found["importance sampling"].estimate)
    assert np.isfinite(found["doubly robust"].estimate)
    assert "there it is the model's word" in learned.agreement


def test_disagreement_is_said():
    value = gim.logs.learned.Value(10.0, 9.0, 11.0)
    assert "promises more than the log" in agreement(value, Estimate(5.0, 4.0, 6.0, 50.0))
    assert "do not rely" in agreement(value, Estimate(5.0, 4.0, 6.0, 50.0))
    assert "rests on 3 episodes" in agreement(value, Estimate(5.0, 4.0, 6.0, 3.0))
    assert "promises less" in agreement(value, Estimate(15.0, 14.0, 16.0, 50.0))
    assert "agrees" in agreement(value, Estimate(10.0, 8.0, 12.0, 50.0))


def test_held_out_episodes_check_the_whole_way():
    _, rows = river_log(4000, seed=4)
    log = gim.from_log(rows, episode="e")
    for part in gim.logs.held_out(log, infer=None, safe="spibb"):
        assert part.evaluation.lower <= part.model <= part.evaluation.upper
    with pytest.raises(ValueError, match="cannot be held out"):
        gim.logs.held_out(log.part(np.array([0])))


def test_a_part_of_a_log_keeps_its_states():
    log = uneven()
    odd = log.part(np.arange(len(log.starts)) % 2 == 1)
    assert odd.S == log.S
    assert odd.counts.n.sum() == len(odd) == log.lengths[1::2].sum()
    assert odd.returns.tolist() == log.returns[1::2].tolist()
    with pytest.raises(ValueError, match="at least one"):
        log.part(np.zeros(len(log.starts), bool))
