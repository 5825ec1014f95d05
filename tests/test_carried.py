"""What earlier tasks leave: factors of the paper's matrices, and templates of transitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import gim
from gim.analogy import by_templates
from gim.analogy.base import Frame
from gim.analogy.by_templates import ByTemplates, Library
from gim.analogy.candidates import Data, candidates
from gim.analogy.candidates.base import suited
from gim.analogy.candidates.carried import Carried
from gim.model.counts import new_counts, transitions
from gim.model.learned import LearnedModel
from gim.testing import check_candidate
from gim_lab.experiments.many.worlds import low_rank_family

S, A = 14, 10


def model_of(P, visits=50):
    n = np.full(P.shape[:2], visits)
    return LearnedModel(P, np.zeros(P.shape[:2]), horizon=5, visits=n, known=n > 0)


def data_of(P, n, models, rng=None):
    """Counts of pairs n [S, A]: as many as expected, or drawn."""
    N = n[..., None] * P if rng is None else rng.multinomial(n, P).astype(float)
    frame = Frame(np.ones(n.shape, bool), np.zeros(len(n), bool), (0.0, 1.0), tuple(models))
    rows = sparse.csr_array(N.reshape(n.size, -1))
    return Data(rows, n.astype(float), frame.available, facts=frame)


@pytest.fixture(scope="module")
def family():
    return [world.transitions for world in low_rank_family(7, S=S, A=A, rank=2, seed=3)]


def test_carried_passes_its_kit_and_is_offered_where_models_are():
    check_candidate(Carried())
    P = np.full((S, A, S), 1 / S)
    assert not [each for each in suited(data_of(P, np.ones((S, A)), [])) if "carried" in str(each)]
    found = [str(each) for each in suited(data_of(P, np.ones((S, A)), [model_of(P)]))]
    assert {"carried", "carried:rank=4"} <= set(found)
    assert "carried" in candidates.names()


def test_factors_of_earlier_tasks_complete_a_new_one_exactly(family):
    *earlier, new = family
    n = np.zeros((S, A), np.int64)
    n[:4, :4] = 10**7  # all else is unseen
    fitted = Carried(rank=2).fit(data_of(new, n, map(model_of, earlier)))
    said = fitted.rows(np.arange(S * A)).toarray()
    np.testing.assert_allclose(said, new.reshape(S * A, S), atol=1e-4)
    alone = candidates.make("factors").fit(data_of(new, n, []))
    blind = alone.rows(np.arange(S * A)).toarray()
    assert np.abs(blind - new.reshape(S * A, S)).sum(axis=1).mean() > 0.3


def test_what_is_carried_beats_all_that_learn_alone(family):
    *earlier, new = family
    rng = np.random.default_rng(0)
    n = rng.binomial(3, 0.3, (S, A))
    data = data_of(new, n, map(model_of, earlier), rng)
    pairs, errors = np.arange(S * A), {}
    for each in suited(data):
        said = each.fit(data).rows(pairs).toarray()
        errors[str(each)] = np.abs(said - new.reshape(S * A, S)).sum(axis=1).mean()
    own = min(error for name, error in errors.items() if "carried" not in name)
    assert errors["carried"] < 0.8 * own
    behind = Carried().fit(data).visits_behind(pairs)
    assert ((behind > 1) & (behind < 1e4)).all()


def test_templates_are_found_by_rank_and_gap():
    library = Library(3)
    assert library.add(np.array([8.0, 2.0, 0.0]), 0.2) == 0
    assert library.add(np.array([7.0, 3.0, 0.0]), 0.2) == 0  # .14 away
    assert library.add(np.array([5.0, 5.0, 0.0]), 0.2) == 1  # .35 away
    assert library.visits.tolist() == [[15.0, 5.0, 0.0], [5.0, 5.0, 0.0]]
    assert library.nearest(np.array([1.0, 1.0, 1.0]), 0.2) is None


def test_a_pair_takes_the_chances_of_its_template_on_its_own_states():
    P = np.zeros((4, 1, 4))
    P[:, 0, :2] = 0.75, 0.25
    models = (model_of(P, 100),)
    counts = new_counts(4, 1)
    counts.n[2, 0] = 6
    transitions(counts)[2, 0, [3, 1]] = 4, 2
    counts.n[3, 0] = 2  # too few visits
    transitions(counts)[3, 0, 0] = 2
    frame = Frame(np.ones((4, 1), bool), np.zeros(4, bool), (0.0, 1.0), models)
    prior = ByTemplates(m=5, gap=0.2)(counts, frame, np.random.default_rng(0))
    assert prior.n0.ravel().tolist() == [0.0, 0.0, 400.0, 0.0]
    row = prior.rows().toarray()[2]
    np.testing.assert_allclose(row, [0.0, 102 / 406, 0.0, 304 / 406])
    alone = ByTemplates(m=5, gap=0.01)(counts, frame, np.random.default_rng(0))
    assert not alone.n0.any()


def test_rmax_with_templates_knows_a_maze_sooner():
    world = gim.make("gridworld:height=3,width=3,slip=0.3,horizon=20")
    model = gim.run("rmax:m=60", world, 120, seed=1).model
    runs = {
        name: gim.run(
            f"rmax:m=60,infer={name}", world, 60, seed=2, prior=[model] * (name != "none")
        )
        for name in ("none", "by_templates(m=8)")
    }
    plain, ours = (run.returns.mean() for run in runs.values())
    assert ours > plain + 0.5
    assert len(by_templates.templates_of((model,), 9, 8, 0.3).visits) < 9
