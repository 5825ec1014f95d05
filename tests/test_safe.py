"""Safe policies: each is its slow, obvious twin on small random problems."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import gim
from gim.logs import safe
from gim.logs.learning import DEFAULT, learn
from gim.logs.safe import METHODS, Case, Safe, safe_policy
from gim.logs.safe.base import sweeps

NAMES = [*METHODS]


def case_of(seed, horizon=4, discount=None, S=4, A=3, terminal=True):
    """A random estimate with few visits, and a random baseline."""
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 25, (S, A)).astype(float)
    N = np.array([[rng.multinomial(int(k), rng.dirichlet(np.ones(S))) for k in row] for row in n])
    P = N / np.maximum(n, 1)[:, :, None]
    P[n == 0] = np.eye(S)[np.nonzero(n == 0)[0]]
    r = rng.normal(size=(S, A))
    ends = np.zeros(S, bool)
    if terminal:
        ends[-1] = True
        P[-1], r[-1] = np.eye(S)[-1], 0.0
    playable = n > 0
    playable[~playable.any(axis=1)] = True
    baseline = rng.dirichlet(np.ones(A), S)
    spread = rng.random((S, A))
    rewards = (float(r.min()), float(r.max()))
    rows = sparse.csr_array(P.reshape(S * A, S))
    return Case(rows, r, n, spread, playable, ends, baseline, rewards, horizon, discount)


def weighs(case, togo):
    return sum(case.gamma**k for k in range(togo))


def literal(name, method, case, steps):
    """The policy of each step, the first one first, by loops over all there is."""
    S, A = case.r.shape
    P = case.P.toarray().reshape(S, A, S)
    low, high = case.rewards
    v, var, mixed = [0.0] * S, [0.0] * S, [[0.0] * A for _ in range(S)]
    for s in range(S):
        for a in range(A):
            mixed[s][a] = case.playable[s, a] / case.playable[s].sum()
    policies = []
    for togo in range(1, steps + 1):
        all_steps = weighs(case, togo) if case.horizon else 1 / (1 - case.gamma)
        new_v, new_var, chosen = [0.0] * S, [0.0] * S, []
        for s in range(S):
            q, u = [0.0] * A, [0.0] * A
            for a in range(A):
                n, r = max(case.n[s, a], 1e-12), case.r[s, a]
                p = P[s, a]
                if name == "duipi" and not case.terminal[s]:
                    p = (p * case.n[s, a] + method.alpha) / (case.n[s, a] + S * method.alpha)
                if name == "robust":
                    p = worst(
                        p,
                        v,
                        method.scale * math.sqrt(math.log(2 * S * A * S / method.delta) / (2 * n)),
                    )
                q[a] = r + case.gamma * sum(p[t] * v[t] for t in range(S))
                if name == "vi_lcb":
                    penalty = method.scale * math.sqrt(math.log(2 * S * A / method.delta) / (2 * n))
                    least = min(low * all_steps, 0.0) if case.terminal.any() else low * all_steps
                    q[a] = max(q[a] - penalty * (high - low) * all_steps, least)
                if name == "r_min" and case.n[s, a] < method.n:
                    q[a] = low * all_steps
                if name == "bernstein":
                    mean = sum(p[t] * v[t] for t in range(S))
                    noise = sum(p[t] * (v[t] - mean) ** 2 for t in range(S))
                    error = math.sqrt((case.gamma**2 * noise + case.spread[s, a]) / n)
                    least = min(low * all_steps, 0.0) if case.terminal.any() else low * all_steps
                    q[a] = max(q[a] - method.xi * error, least)
                    q[a] = q[a] if case.n[s, a] >= method.n else least
                if name == "ramdp":
                    q[a] -= method.kappa * (high - low) / math.sqrt(n)
                if name == "duipi":
                    total = case.n[s, a] + S * method.alpha
                    u[a] = (case.spread[s, a] + (high - low) ** 2 * method.alpha) / (
                        case.n[s, a] + method.alpha
                    )
                    for t in range(S):
                        u[a] += (case.gamma * p[t]) ** 2 * var[t]
                        u[a] += p[t] * (1 - p[t]) / (total + 1) * (r + case.gamma * v[t]) ** 2
            if name in ("spibb", "lower_spibb"):
                pi = {"spibb": bootstrapped, "lower_spibb": lower}[name](s, q, case, method)
            else:
                scores = [
                    q[a] - (method.xi * math.sqrt(u[a]) if name == "duipi" else 0) for a in range(A)
                ]
                ranks = [(scores[a], case.baseline[s, a]) for a in range(A)]  # among equals
                best = max((a for a in range(A) if case.playable[s, a]), key=ranks.__getitem__)
                pi = [float(a == best) for a in range(A)]
                if name == "duipi" and case.horizon is None:
                    pi = mixed[s] = [x + (y - x) / togo for x, y in zip(mixed[s], pi, strict=True)]
            chosen.append(pi)
            if not case.terminal[s]:
                new_v[s] = sum(pi[a] * q[a] for a in range(A))
                new_var[s] = sum(pi[a] ** 2 * u[a] for a in range(A))
        v, var = new_v, new_var
        policies.insert(0, chosen)
    return np.array(policies)


def worst(p, v, width):
    """The worst distribution within the intervals, one bit of mass after the other."""
    low = [max(x - width, 0.0) for x in p]
    high = [min(x + width, 1.0) for x in p]
    free = 1 - sum(low)
    for t in sorted(range(len(p)), key=lambda t: v[t]):
        more = min(free, high[t] - low[t])
        low[t] += more
        free -= more
    return low


def bootstrapped(s, q, case, method):
    free = [a for a in range(len(q)) if case.n[s, a] >= method.n and case.playable[s, a]]
    pi = [0.0 if a in free else case.baseline[s, a] for a in range(len(q))]
    if free:
        pi[max(free, key=lambda a: q[a])] = 1 - sum(pi)
    return pi


def lower(s, q, case, method):
    pi, left = [0.0] * len(q), 1.0
    for a in sorted(range(len(q)), key=lambda a: -q[a]):
        known = case.n[s, a] >= method.n and case.playable[s, a]
        pi[a] = left if known else min(left, case.baseline[s, a])
        left -= pi[a]
    return pi


def chances(policy, A):
    return policy if policy.dtype.kind == "f" else np.eye(A)[policy]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("discount", [None, 0.9])
def test_over_a_horizon_each_is_its_twin(name, seed, discount):
    case, method = case_of(seed, horizon=5, discount=discount), safe_policy(name)
    found, expected = chances(method(case), 3), literal(name, method, case, 5)
    going = ~case.terminal  # where an episode is over all actions are alike, but for rounding
    np.testing.assert_allclose(found[:, going], expected[:, going], rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", NAMES)
def test_discounted_each_is_its_twin(name, seed):
    case, method = case_of(seed, horizon=None, discount=0.6), safe_policy(name)
    found, expected = chances(method(case), 3), literal(name, method, case, sweeps(0.6))[0]
    np.testing.assert_allclose(found[~case.terminal], expected[~case.terminal], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_methods_differ_from_plain_and_agree_where_all_is_known(name):
    """With visits without number, no method has anything to be careful about."""
    few = [case_of(seed, S=6, A=4) for seed in range(30)]
    if name != "plain":
        assert any(
            np.abs(chances(safe_policy(name)(c), 4) - chances(safe_policy("plain")(c), 4)).max()
            > 0.1
            for c in few
        )
    for case in few:
        sure = case._replace(n=np.full(case.n.shape, 1e15), playable=np.ones(case.n.shape, bool))
        found, plain = (chances(safe_policy(each)(sure), 4) for each in (name, "plain"))
        going = ~case.terminal  # where an episode is over all actions are alike
        np.testing.assert_allclose(found[:, going], plain[:, going], atol=1e-9)


def test_a_log_is_planned_on_as_its_rows_say():
    """By counts alone: a pair never tried pays the least and stays, and is not played."""
    rng = np.random.default_rng(0)
    rows = [(s, a, float(rng.integers(-2, 5)), int(rng.integers(4))) for s in range(3)
            for a in range(3) if (s, a) != (1, 2) for _ in range(rng.integers(1, 9))]  # fmt: skip
    case = gim.learn(gim.from_log(rows), infer=None, discount=0.9).behind.case
    P = case.P.toarray().reshape(4, 3, 4)  # state 3 was entered and never left
    for s, a in np.ndindex(4, 3):
        paid = [r for x, b, r, _ in rows if (x, b) == (s, a)]
        after = [t for x, b, _, t in rows if (x, b) == (s, a)]
        assert case.n[s, a] == len(paid)
        assert case.playable[s, a] == (len(paid) > 0 or s == 3)
        assert case.r[s, a] == pytest.approx(np.mean(paid) if paid else min(case.rewards))
        assert case.spread[s, a] == pytest.approx(np.var(paid) if paid else 0.0)
        assert P[s, a] == pytest.approx(np.bincount(after, minlength=4) / len(after) if after
                                        else np.eye(4)[s])  # fmt: skip
        if s < 3:
            assert case.baseline[s, a] == len(paid) / sum(x == s for x, *_ in rows)
    assert case.rewards == (case.r[case.n > 0].min(), case.r[case.n > 0].max())
    assert case.rewards[0] < 0
    assert not case.terminal.any()


def test_only_playable_pairs_are_chosen_but_by_the_baseline():
    for seed in range(10):
        case = case_of(seed)
        for name in NAMES:
            pi = chances(safe_policy(name)(case), 3)
            np.testing.assert_allclose(pi.sum(axis=-1), 1)
            allowed = case.playable | (case.baseline > 0) if "spibb" in name else case.playable
            assert (pi[:, ~allowed] == 0).all()


def test_spec_strings_and_what_is_wrong_with_them():
    assert safe_policy("spibb:n=3").n == 3
    assert safe_policy(safe_policy("plain")) == safe_policy("plain")
    with pytest.raises(ValueError, match="unknown safe policy 'spib': did you mean 'spibb'"):
        safe_policy("spib")
    with pytest.raises(ValueError, match="the parameters of ramdp are kappa"):
        safe_policy("ramdp:n=3")
    with pytest.raises(ValueError, match="must be at least 0"):
        safe_policy("ramdp:kappa=-1")
    big = case_of(0)._replace(r=np.zeros((3000, 2)))
    with pytest.raises(ValueError, match="too many for this safe policy"):
        safe_policy("robust").start(big)


def test_each_class_has_a_name_and_learn_and_the_page_list_them():
    """No registry: a digest of trials follows the imports of `METHODS`."""
    modules = pkgutil.iter_modules(safe.__path__)
    files = [importlib.import_module(f"{safe.__name__}.{module.name}") for module in modules]
    classes = {
        each
        for file in files
        for _, each in inspect.getmembers(file, inspect.isclass)
        if issubclass(each, Safe) and each is not Safe
    }
    assert set(METHODS.values()) == classes
    given = learn.__doc__.split(" safe: ")[1].split("baseline: ")[0]
    assert re.findall(r'"(\w+)"', given) == NAMES
    assert given.rstrip().endswith("None: the last.")
    assert NAMES[-1] == DEFAULT
    page = (Path(__file__).parent.parent / "docs" / "logs.md").read_text()
    table = page.split("## Safe policies\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.M) == NAMES
