"""The bounds as numbers, and counter-examples to the steps that do not hold as printed."""

from __future__ import annotations

import itertools
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gim
from gim import theory
from gim.model.matrices import dynamic_matrices, spectrum
from gim.runs.agent import agents
from gim.runs.run import prepare


def test_theorem_2_by_hand():
    rho = theory.known_fraction(S=9, A=4, kappa=2, r=3, mu0=1, mu1=2)
    assert rho == pytest.approx(1 / 6 * 4 * (4 * 9 * 9 / 4 * 16))
    flat = theory.known_fraction(S=100, A=100, kappa=1, r=1, mu0=1, mu1=1)
    assert flat == pytest.approx(log(100) / 100)
    m = theory.known_threshold(S=9, A=4, H=5, kappa=2, r=3, epsilon=0.1, rho=0.8)
    assert m == pytest.approx(16 * 3 * 9 * 25 * 9 / (0.8 * 4 * 0.01))
    episodes = theory.sample_complexity(
        S=9, A=4, H=5, D=2, kappa=2, r=3, epsilon=0.1, delta=exp(-2), beta=0.2
    )
    assert episodes == pytest.approx(16 * 3 * 81 * 9 * 5 * 2 / (0.8 * 0.01) * 2)


def test_theorem_2_is_lemma_2_at_its_own_m():
    S, A, H, D, kappa, r, epsilon, delta, rho, beta = 9, 4, 5, 2.0, 2.0, 3, 0.1, 0.05, 0.7, 0.2
    m = theory.known_threshold(S, A, H, kappa, r, epsilon, rho)
    explore = theory.exploration_bound(S, A, H, D, m, rho, beta, delta)
    whole = theory.sample_complexity(S, A, H, D, kappa, r, epsilon, delta, beta)
    assert explore == pytest.approx(whole)


def test_scenarios_compare_the_two_bounds():
    for (S, A), r in itertools.product(((5, 8), (8, 5), (40, 10)), (1, 4, 10, 300)):
        H, epsilon, delta = 10, 0.5, 0.1
        # With kappa^4 D / (1 - beta) = 1 the condition on r is that of the two bounds.
        ours = theory.sample_complexity(S, A, H, 1, 1, r, epsilon, delta, beta=0)
        rmax = theory.sample_complexity_rmax(S, A, H, epsilon, delta)
        found = theory.scenario(S, A, H, r, epsilon, delta)
        assert found.number == (1 if A >= S else 2)
        assert found.lower_than_rmax == (ours < rmax)
    assert theory.scenario(8, 5, 10, 1, 0.5, 0.1).rank_below == pytest.approx(
        5 * 10 / (8 * 0.5) * log(40 / 0.1)
    )


def test_worst_scenario():
    m = theory.known_threshold_worst(S=6, A=2, H=20, epsilon=0.1, delta=0.05)
    assert m == pytest.approx(6 * 400 / 0.01 * log(12 / 0.05))
    explore = theory.exploration_bound(6, 2, 20, 5, m, 1.0, 0.2, 0.05)
    worst = theory.sample_complexity_worst(6, 2, 20, 5, 0.1, 0.05, 0.2)
    assert explore == pytest.approx(worst)
    assert worst < theory.sample_complexity_rmax(6, 2, 20, 0.1, 0.05)


def test_the_perturbation_bound_by_hand():
    found = theory.perturbation_bound(9, 4, 2, 3, 0.8, 0.1)
    assert found == pytest.approx(4 * 0.1 * sqrt(3 * 9 / (0.8 * 36)))


def test_planning_operations_the_right_way_up():
    found = theory.planning_operations(S=6, A=2, epsilon=0.1, v_max=20)
    assert found == (1, 6, 6 * 2 * 20 / 0.1)
    finer = theory.planning_operations(S=6, A=2, epsilon=0.01, v_max=20)
    assert finer.rtdp_rmax > found.rtdp_rmax  # as printed, a finer tolerance would cost less


def random_mdp(rng, S, A, low=-1.0, high=1.0):
    return rng.dirichlet(np.full(S, 0.5), (S, A)), rng.uniform(low, high, (S, A))


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 12),
    st.floats(0, 1),
    st.floats(0.1, 1e4),
    st.integers(0, 10**6),
)
def test_the_repaired_simulation_lemma_holds(S, A, H, mixed, span, seed):
    rng = np.random.default_rng(seed)
    P, r = random_mdp(rng, S, A, -span / 2, span / 2)
    Q, q = random_mdp(rng, S, A, -span / 2, span / 2)
    Q, q = (1 - mixed) * P + mixed * Q, (1 - mixed) * r + mixed * q
    apart = theory.distance(P, r, Q, q)
    bound = theory.simulation_bound_repaired(apart, H, span)
    for _ in range(5):
        policy = rng.integers(0, A, (H, S))
        gap = theory.value_gap(P, r, Q, q, policy, H, rng.dirichlet(np.ones(S)))
        assert gap <= bound * (1 + 1e-9) + 1e-12
    if span <= 2:
        assert bound <= theory.simulation_bound(apart.dist, H) + 1e-12


def test_the_repaired_lemma_is_tight_for_two_steps():
    # A transition that is wrong by 2e in l1, then rewards at the two ends of their range.
    e, span = 0.1, 4.0
    P = np.zeros((3, 1, 3))
    P[0, 0] = [0, 0.5, 0.5]
    P[1, 0, 1] = P[2, 0, 2] = 1
    Q = P.copy()
    Q[0, 0] = [0, 0.5 + e, 0.5 - e]
    r = np.array([[0.0], [span / 2], [-span / 2]])
    apart = theory.distance(P, r, Q, r)
    assert apart == (pytest.approx(2 * e), 0.0)
    gap = theory.value_gap(P, r, Q, r, np.zeros(3, int), 2)
    assert gap == pytest.approx(theory.simulation_bound_repaired(apart, 2, span))


def test_the_printed_simulation_lemma_fails_for_large_rewards():
    # |U| <= 1 is assumed in its proof; RiverSwim pays 3,000 a step.
    P = np.zeros((2, 1, 2))
    P[0, 0], P[1, 0] = [0.9, 0.1], [0.0, 1.0]
    Q = P.copy()
    Q[0, 0] = [0.8, 0.2]
    r = np.array([[0.0], [3000.0]])
    gap = theory.value_gap(P, r, Q, r, np.zeros(2, int), 20)
    assert gap > theory.simulation_bound(theory.distance(P, r, Q, r).dist, 20)
    assert gap <= theory.simulation_bound_repaired(theory.distance(P, r, Q, r), 20, 3000.0)


def test_the_absolute_value_outside_the_sum_bounds_nothing():
    # Printed: |sum over trajectories of P_M - P_M'|. Both sum to 1, so it is 0 for any two MDPs,
    # and the lemma would say that transitions do not matter.
    rng = np.random.default_rng(0)
    P, r = random_mdp(rng, 3, 1)
    Q, _ = random_mdp(rng, 3, 1)
    outside = inside = 0.0
    for path in itertools.product(range(3), repeat=4):
        steps = list(itertools.pairwise((0, *path)))
        chance = np.prod([P[s, 0, t] for s, t in steps])
        other = np.prod([Q[s, 0, t] for s, t in steps])
        outside += chance - other
        inside += abs(chance - other)
    assert outside == pytest.approx(0, abs=1e-12)
    assert inside > 0.1
    assert theory.value_gap(P, r, Q, r, np.zeros(3, int), 4) > 0.01


def test_lemma_2_needs_the_condition_for_the_optimal_policy_too():
    # Condition 1 asks only that the chosen policy is valued rightly. A model that undervalues the
    # other action meets it, and the policy chosen is far from optimal.
    P, r = np.ones((1, 2, 1)), np.array([[0.1, 1.0]])
    model = np.array([[0.1, 0.0]])
    chosen, best = [int(model.argmax())], [int(r.argmax())]
    H = 5
    assert theory.value_gap(P, r, P, model, chosen, H) == 0
    lost = theory.average_value(P, r, best, H) - theory.average_value(P, r, chosen, H)
    assert lost == pytest.approx(0.9)


def test_an_average_bound_does_not_bound_every_pair():
    error = np.zeros((50, 40))
    error[3, 7] = 1.0  # one pair is wrong altogether
    assert sqrt((error**2).mean()) == pytest.approx(1 / sqrt(2000))
    assert np.abs(error).max() == 1.0


def test_s_plus_1_matrices_need_a_union_bound():
    S, A = 1000, 5
    one = 1 / min(S, A) ** 3
    assert one < 0.01
    assert (S + 1) * one > 1  # the union over all matrices promises nothing here


def test_the_noise_of_a_probability():
    m, rng = 40, np.random.default_rng(0)
    estimates = rng.binomial(m, 0.5, 200_000) / m - 0.5
    assert estimates.std() <= theory.noise(m) * 1.01
    assert theory.noise(m) == pytest.approx(1 / sqrt(4 * m))


def test_distance_by_hand():
    P = np.array([[[0.5, 0.5]], [[1.0, 0.0]]])
    Q = np.array([[[0.4, 0.6]], [[1.0, 0.0]]])
    r, q = np.array([[1.0], [2.0]]), np.array([[1.0], [1.5]])
    apart = theory.distance(P, r, Q, q)
    assert apart == (pytest.approx(0.2), pytest.approx(0.5))
    assert apart.dist == pytest.approx(0.5)
    assert theory.distance(P, r, P, r).dist == 0


def test_average_value_by_hand():
    P = np.zeros((2, 2, 2))
    P[0, 0], P[0, 1], P[1, 0], P[1, 1] = [1, 0], [0, 1], [0.5, 0.5], [0, 1]
    r = np.array([[0.0, 1.0], [3.0, 5.0]])
    assert theory.average_value(P, r, [1, 1], 3, 0) == pytest.approx((1 + 5 + 5) / 3)
    by_step = [[1, 1], [0, 0], [0, 1]]
    assert theory.average_value(P, r, by_step, 3, [1.0, 0.0]) == pytest.approx((1 + 3 + 2.5) / 3)


def test_the_table_is_astronomical():
    P = np.zeros((3, 2, 3))
    for s in range(3):
        P[s, 0, max(s - 1, 0)] = 1.0
        P[s, 1] += 0.6 * np.eye(3)[s] + 0.4 * np.eye(3)[min(s + 1, 2)]
    row = theory.table("chain", P, np.array([[5.0, 0], [0, 0], [0, 100.0]]), H=20, D=7)
    assert (row.name, row.S, row.A, row.H, row.r) == ("chain", 3, 2, 20, 2)
    assert row.rho > 1  # Theorem 2 asks for more than all pairs
    assert row.m > 1e6
    without = theory.table("chain", P, np.zeros((3, 2)), H=20, D=7)
    no_rewards = theory.table(
        "chain", P, np.array([[5.0, 0], [0, 0], [0, 1e9]]), H=20, D=7, with_rewards=False
    )
    assert no_rewards.kappa == without.kappa < row.kappa
    assert row.explore == pytest.approx(theory.exploration_bound(3, 2, 20, 7, 40, 0.8))


def test_theorem_1_by_hand():
    found = theory.computation(S=20, A=10, steps=1000, sweeps=7)
    assert found == (20 * 10 * 7, 20 * 20, 1000)
    assert found.total == 1400 + 400 + 1000
    repaired = theory.computation_repaired(20, 10, 1000, 7)
    assert repaired == (20 * 10 * 20 * 7, 21 * 20 * 10, 1000)
    assert theory.computation_repaired(20, 10, 1000, 7, successors=1).planning == found.planning


def test_a_sweep_costs_more_than_one_operation_a_pair():
    # Printed: phi = O(S A U). One backup of one pair already reads p(.|s,a), S numbers.
    P, _ = random_mdp(np.random.default_rng(0), 12, 5)
    read = sum(np.count_nonzero(P[s, a]) for s in range(12) for a in range(5))  # of one sweep
    printed, repaired = (f(12, 5, 0, 1) for f in (theory.computation, theory.computation_repaired))
    assert read == repaired.planning == 12 * printed.planning


def test_completion_cannot_cost_less_than_to_read_what_is_known():
    # Printed: S max(S, A). The S+1 matrices have that many known entries at rho .8 alone.
    for S, A in ((20, 10), (50, 40), (16, 4), (6, 2)):
        known = (S + 1) * int(0.8 * S * A)
        assert known > theory.computation(S, A, 0, 1).completing
        assert known <= theory.computation_repaired(S, A, 0, 1).completing


def test_space_beside_what_learners_keep():
    def kept(agent, mdp):
        def size(part):
            return part.size if isinstance(part, np.ndarray) else sum(map(size, part))

        return size(prepare(agents.make(agent), mdp, 1, 0).memory)

    mdp = gim.make("shared_factors", S=100, A=10)  # its lists begin with room for thousands
    numbers = theory.space(100, 10)
    for agent in ("gim", "rmax", "psrl"):
        assert numbers.model_based / 1.1 <= kept(agent, mdp) <= 1.5 * numbers.model_based
    for agent in ("q_learning", "delayed_q_learning", "double_q_learning"):
        assert numbers.model_free <= kept(agent, mdp) <= 10 * numbers.model_free
    grid = gim.make("gridworld", height=50, width=50).to_sparse()  # 2,500 states, few successors
    few = theory.space(grid.S, grid.A, nnz=3 * grid.S * grid.A)
    assert kept("rmax", grid) < 10 * few.sparse < few.model_based / 10


def test_incoherence_as_defined_lost_its_n():
    # Definition 3 with orthonormal vectors: a matrix as spread as can be has mu0 = 1 / n, not 1.
    even = np.ones((1, 8, 4))
    found = spectrum(even)
    assert float(found.mu0.keshavan[0]) == pytest.approx(1.0)
    assert float(found.mu0.definition[0]) == pytest.approx(1 / 4)
    mdp = gim.make("synthetic")
    suprema = spectrum(dynamic_matrices(mdp.transitions, mdp.rewards)).suprema()
    assert suprema.mu0.keshavan > 9 * suprema.mu0.definition


def test_the_logarithm_of_theorem_2_is_not_in_the_perturbation_lemma():
    # Where everything else is 1, the condition on rho is the logarithm alone.
    S = A = 100
    theorem = theory.known_fraction(S, A, kappa=1, r=1, mu0=1, mu1=1)
    lemma = 1 / sqrt(S * A) * max(1, 1, 1)  # as printed in Lemma 4
    assert theorem == pytest.approx(log(100) * lemma)


def test_the_printed_m_does_not_meet_the_inequality_it_is_said_to_solve():
    S, A, H, kappa, r, epsilon, rho = 20, 10, 10, 1.5, 2, 0.1, 0.8

    def dist(m):  # Equation (10): S + 1 times the perturbation bound
        return (S + 1) * theory.perturbation_bound(S, A, kappa, r, rho, theory.noise(m))

    m = theory.known_threshold(S, A, H, kappa, r, epsilon, rho)
    assert dist(m) <= 1.1 * epsilon / (2 * H)  # what it does meet, but for (S+1)/S
    assert dist(m) > 10 * epsilon / (2 * (S + 1) * H)  # what the text asks for
    assert dist(1.01 * ((S + 1) ** 2 / S) ** 2 * m) <= epsilon / (2 * (S + 1) * H)  # of order S^3


def test_the_noise_of_a_reward_is_that_of_its_range():
    m, high, rng = 40, 3000.0, np.random.default_rng(0)
    means = high * rng.binomial(m, 0.5, 100_000) / m
    assert means.std() == pytest.approx(high * theory.noise(m), rel=0.02)
    assert means.std() > 1000 * theory.noise(m)


def test_a_mask_made_by_walking_is_not_a_uniform_sample():
    # Of 12 pairs 10 become known. Drawn at random, each of the last state's pairs would be left
    # out in 1 of 6 draws; walking leaves out both of them in every run.
    river = gim.make("riverswim")
    for seed in range(8):
        run = prepare(gim.GIM.paper(), river, 1000, seed).go()
        assert run.explored_at is not None
        assert list(run.memory.known.mask.sum(axis=1)) == [2, 2, 2, 2, 2, 0]


def test_an_unknown_pair_may_be_much_more_than_d_steps_away():
    # A lock: action 1 goes on, action 0 starts anew. D is S - 1, but a walk that looks one step
    # ahead finds the way by chance, in 2^(S-1) steps or so; Lemma 2 has rho m S A D / (1 - beta).
    S = 13
    P = np.zeros((S, 2, S))
    for s in range(S):
        P[s, 0, 0] = P[s, 1, min(s + 1, S - 1)] = 1.0
    lock = gim.TabularMDP(P, np.zeros((S, 2)), start=0, horizon=100)
    assert lock.diameter() == pytest.approx(S - 1)
    agent = gim.GIM.paper(m=1, rho=1.0, beta=0.0, patience=10**6)
    run = prepare(agent, lock, 2000, seed=1).go()
    bound = theory.exploration_bound(S, 2, 100, S - 1, m=1, rho=1.0, beta=0.0, delta=0.05)
    assert run.explored_at is not None
    assert run.explored_at + 1 > 3 * bound
