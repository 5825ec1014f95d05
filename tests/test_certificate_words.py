"""The sentences of a certificate, word by word."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gim.analogy.witnesses import Witness
from gim.belief.certificate.sentences import (
    figure,
    of_pairs,
    of_returns,
    part_of_the_best,
    sentences,
)
from gim.belief.shares import percent


def certificate(inferred=0, unmet=0, silent=0, **other):
    """Of ten pairs; those never met and those without a bound are the first of the inferred."""
    given = {
        "kind": "credible",
        "share": 0.9,
        "of_pairs": 0.9,
        "useless": False,
        "expected": 20.0,
        "earns": (18.0, 21.0),
        "loss": 1.0,
        "trivial": 20.0,
        "assumed": (),
        "why": "",
        "witnesses": (),
        "refuted": None,
    }
    masks = {"inferred": inferred, "unmet": unmet, "unbounded": silent}
    given |= {name: np.arange(10) < many for name, many in masks.items()}
    return SimpleNamespace(**(given | other))


EARNS = "credible: with probability 90 % the policy earns between 18 and 21 an episode"


def test_a_useful_bound():
    assert of_returns(certificate()) == (
        f"{EARNS} and loses at most 1 (5 %) of the best; it expects 20"
    )
    sure = certificate(kind="guaranteed", loss=0.0)
    assert of_returns(sure) == (
        "guaranteed: with a probability of at least 90 % the policy earns between 18 and 21 an "
        "episode and loses next to nothing of the best; it expects 20"
    )


def test_a_large_loss_would_be_narrowed_by_more_episodes():
    assert of_returns(certificate(loss=2.0)).endswith("(10 %) of the best; it expects 20")
    assert of_returns(certificate(loss=2.1)).endswith(
        "loses at most 2.1 (10.5 %) of the best, which more episodes would narrow; it expects 20"
    )


def test_no_bound():
    few = certificate(useless=True)
    assert of_returns(few) == (
        f"{EARNS}; how far that is from the best is not known yet: more episodes would tell"
    )
    untold = of_returns(certificate(why="untold"))
    assert untold == (
        "credible: no bound, since it would rest on how large rewards may be, which nobody told "
        "(reward_range=); the policy expects 20 an episode"
    )


def test_a_contradiction_is_said_instead_of_the_bound():
    told = Witness("30 episodes", 15.0, 14.0, 16.0)
    text = of_returns(certificate(why="refuted", refuted=(18.0, 21.0), witnesses=(told,)))
    assert text == (
        "credible: contradicted, and so no bound: what was learned says that the policy earns "
        "between 18 and 21 an episode, but 30 episodes say between 14 and 16; the policy expects "
        "20 an episode"
    )
    unsure = certificate(useless=True, kind="guaranteed")
    assert of_returns(unsure) == (
        "guaranteed: no useful bound, more episodes are needed (kind='credible' gets by with "
        "fewer); the policy expects 20 an episode"
    )


@pytest.mark.parametrize(
    ("loss", "expected", "told"),
    [
        (0.0020, 20.0, "next to nothing of the best"),
        (0.0021, 20.0, "at most 0.0021 (0.0105 %) of the best"),
        (3.0, -12.0, "at most 3 (25 %) of the best"),
        (3.0, 0.0, "at most 3 of the best"),
    ],
)
def test_a_loss_beside_what_is_expected(loss, expected, told):
    assert part_of_the_best(certificate(expected=expected), loss) == told


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((0, 0, 0), "every pair has enough visits of its own; nothing is inferred"),
        ((4, 3, 4), "; none has a bound on its error: none was ever met"),
        ((4, 3, 0), "; bounds on errors have a nominal coverage of 90 %"),
        (
            (4, 3, 3),
            "; bounds on errors have a nominal coverage of 90 %, but the 3 never met have none",
        ),
    ],
)
def test_what_is_inferred(given, told):
    start = "4 pairs are inferred, 3 of them never met" if given[0] else ""
    assert of_pairs(certificate(*given)) == start + told


def test_what_is_assumed_comes_last():
    assert len(sentences(certificate())) == 2
    assert sentences(certificate(assumed=("a", "b")))[2:] == ("this holds if a and b",)


def test_figures():
    assert [figure(x) for x in (0.123456, 9999.4, -12345.6, 12345.6)] == [
        "0.1235",
        "9,999",
        "-12,346",
        "12,346",
    ]
    assert (figure(10_000.4), percent(0.12345), percent(1.0)) == ("10,000", "12.3 %", "100 %")
