"""The structure of a block by held-out likelihood: its after-states, contexts and shrinkage.

A form is judged by what it says of pairs when fitted without their fold, for all pairs that were
met, those met once included:

    score = sum over pairs of w(n) mean log((1 - epsilon) q(s') + epsilon / V),
    w(n) = n / (1 + n / OFTEN)

epsilon is the share of exceptions that suits the form best; a pair met often counts as OFTEN.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from gim.analogy.structure.block import Form
from gim.analogy.structure.em import ITERATIONS, Stack, held_out
from gim.analogy.structure.explanations import Explained, Move
from gim.analogy.structure.triples import OFTEN, Floats, Ints, Triples, ranked, summed
from gim.analogy.structure.unsaid import amounts_of, homes_of

EXCEPTIONS = np.array([0.001, 0.01, 0.05, 0.2])
KAPPAS = np.array([0.03, 0.3, 3.0, 30.0])
DEPTH = 4  # limit: levels of contexts below the root
MOST_FEATURES = 24  # limit: that a search looks at
EACH_TWO = 6  # limit: variables of the state, or actions, up to which each two are tried
MANY = 2000  # limit: pairs of which a part tells which features are worth a closer look
LEADING = 4  # limit: single features that are tried in pairs
FINALISTS = 2  # limit: of which one is the next level
MARGIN, Z = 1.0, 2.0  # a finer form must be better by so many nats and standard errors
MOSTS = (2.0, 1e9)  # visits that a pair may count for, besides the usual


Features = tuple[int, ...]


class Found(NamedTuple):
    """A form and how it did."""

    form: Form
    held: Floats  # [I] chance of each observation, by the pairs of other folds
    logs: Floats  # [P] weighted log-likelihood of each pair
    shares: Floats  # [folds, E] of explanations, to go on from

    @property
    def score(self) -> float:
        """Held-out log-likelihood."""
        return float(self.logs.sum())

    def beats(self, other: Found, z: float = Z) -> bool:
        """Whether it is better by more than chance, by so many standard errors."""
        gain = self.logs - other.logs
        return bool(gain.sum() > MARGIN + z * np.sqrt(gain @ gain))


def logs(held: Floats, weight: Floats, slot: Ints, pairs: int, V: int) -> Floats:
    """Log-likelihood by pair [P], at the share of exceptions that suits best."""
    mixed = np.log((1 - EXCEPTIONS[:, None]) * held + EXCEPTIONS[:, None] / V)
    best = int(np.argmax(mixed @ weight))
    return summed(slot, mixed[best] * weight, pairs)


def contexts(data: Explained, found: Found) -> Found:
    """Levels of contexts while they pay, those first that need no proof: actions differ.

    So do pairs that are known to pay differently. What was found without them must be better than
    the best with them by more than the luck of a search, or it is dropped.
    """
    action, pay = (data.triples.k,), data.triples.pay
    plain = deepened(data, found)
    offers = [_told_first(data, plain)]
    if pay and not data.move.shifts:
        offers.append(deepened(data, extended(data, extended(data, found, action), pay)))
    offer = max(offers, key=_score)
    return plain if plain.beats(offer, luck(data.triples.features**2) if pay else Z) else offer


def luck(many: int) -> float:
    """Standard errors by which the best of so many forms must be better."""
    return float(np.sqrt(Z**2 + 2 * np.log(max(1, many))))


def deepened(data: Explained, found: Found) -> Found:
    """Add levels of contexts greedily, one or two features at a time, while they pay.

    All are tried with one step of EM; those that look best are judged in full.
    """
    features, deepest = relevant(data), DEPTH + len(found.form.chain) - 1
    while len(found.form.chain) <= deepest:
        last = found.form.chain[-1]
        singles: list[Features] = [(f,) for f in features if f not in last]
        tried = {more: screened(data, found, more) for more in singles}
        doubles = {tuple(sorted(a + b)) for a, b in combinations(_leading(tried, LEADING), 2)}
        if data.triples.k <= EACH_TWO:
            doubles |= set(combinations([v for v in range(data.triples.k) if v not in last], 2))
        tried |= {more: screened(data, found, more) for more in sorted(doubles)}
        best = found
        singles = _leading({more: tried[more] for more in singles}, FINALISTS)
        finalists = sorted({*singles, *_leading(tried, FINALISTS)})
        offers = [extended(data, found, more) for more in finalists]
        # The best of many is better by luck alone; where no feature may matter none is tried.
        z = luck(len(tried))
        for offer in sorted(offers, key=lambda each: _size(data, each.form)):
            # More contexts must be better than fewer, but less so than any must be than none.
            better = offer.beats(found, z) and (best is found or offer.beats(best, 0.0))
            best = offer if better else best
        if len(found.form.chain) == 1 and not data.move.shifts:
            # That actions differ needs no proof, unless what they add is told already. An action
            # that was hardly tried would else be taken for those that were, and never be tried.
            apart = extended(data, found, (data.triples.k,))
            if best is not found:
                best = max(best, apart, key=_score)
            elif not found.beats(apart):
                best = apart
        if best is found:
            break
        found = best
    return found


def _told_first(data: Explained, found: Found) -> Found:
    """The same with the action, and what it pays, as the first levels, if contexts look at it.

    In a place that was never met it then does what it does elsewhere, not what all actions do.
    """
    action, pay = (data.triples.k,), data.triples.pay
    levels = [(*features, *pay) for features in found.form.chain if data.triples.k in features]
    wanted = tuple(dict.fromkeys([action, (*action, *pay), *(tuple(sorted({*f})) for f in levels)]))
    if not levels or found.form.chain[1:] == wanted:
        return found
    offer = evaluated(data, found.form._replace(chain=((),)), found.shares)
    for features in wanted:
        finer = offer.form._replace(chain=(*offer.form.chain, features))
        offer = evaluated(data, finer, offer.shares)
    return offer


def relevant(data: Explained) -> list[int]:
    """The features that a search looks at: all, or those that tell most about what changed.

    Mutual information of the change and the feature, less what chance gives it (Miller, 1955).
    """
    features = list(range(data.triples.features))
    if len(features) <= MOST_FEATURES:
        return features
    base, target = data.start.base[data.slot], data.values.codes[data.target]
    change, weight = ranked(target - base), data.weights(OFTEN).of
    information = []
    for f in features:
        group = ranked(data.triples.context((f,), data.pairs)[:, None])[data.slot]
        cell = ranked(np.column_stack([group, change]))
        entropies = [_entropy(each, weight) for each in (group, change, cell)]
        information.append(entropies[0] + entropies[1] - entropies[2])
    return sorted(np.argsort(-np.array(information), kind="stable")[:MOST_FEATURES].tolist())


def _entropy(group: Ints, weight: Floats) -> float:
    """Of the groups of observations, in nats, corrected for their number."""
    p = summed(group, weight, int(group.max(initial=0)) + 1) / max(float(weight.sum()), 1e-300)
    return float(-(p[p > 0] * np.log(p[p > 0])).sum() + len(p) / max(2 * weight.sum(), 1.0))


def _size(data: Explained, form: Form) -> tuple[int, Features]:
    """Contexts of the finest level; features, so that the order is the same on every run."""
    return len(data.level(form.chain[-1]).keys), form.chain[-1]


def _leading(tried: dict[Features, float], many: int) -> list[Features]:
    return sorted(tried, key=lambda more: -tried[more])[:many]


def screened(data: Explained, found: Found, more: Features) -> float:
    """The score of one more level, nearly; on the first fold only if there are many pairs."""
    folds = 1 if len(data.pairs) > MANY else data.folds
    held = _chances(data, _finer(found.form, more), found.shares, 1, folds)[0]
    weight, slot = data.weights(OFTEN).of, data.slot
    if folds < data.folds:
        here = data.fold[slot] < folds
        weight, slot, held = weight[here], slot[here], held[:, here]
    V, P = len(data.values.codes), len(data.pairs)
    return max(float(logs(each, weight, slot, P, V).sum()) for each in held)


def extended(data: Explained, found: Found, more: Features) -> Found:
    """One more level, at the shrinkage that suits it best."""
    return evaluated(data, _finer(found.form, more), found.shares)


def _finer(form: Form, more: Features) -> Form:
    return form._replace(chain=(*form.chain, tuple(sorted({*form.chain[-1], *more}))))


def _chances(
    data: Explained, form: Form, shares: Floats | None, iterations: int, folds: int
) -> tuple[Floats, Floats]:
    """Chances of observations without their fold, [KAPPAS, I], by the last shrinkage; shares."""
    kappa = np.array([*form.kappa[: len(form.chain) - 1], 1.0])
    stack = Stack(data, form.chain, form.most)
    return held_out(data, stack, kappa, KAPPAS, shares, iterations, folds)


def evaluated(data: Explained, form: Form, shares: Floats | None = None) -> Found:
    """Fit a form without each fold, with the last shrinkage chosen."""
    held, fresh = _chances(data, form, shares, ITERATIONS, data.folds)
    weight, V = data.weights(OFTEN).of, len(data.values.codes)
    scores = [logs(each, weight, data.slot, len(data.pairs), V) for each in held]
    best = int(np.argmax([each.sum() for each in scores]))
    kappa = (*form.kappa[: len(form.chain) - 1], float(KAPPAS[best]))
    return Found(form._replace(kappa=kappa), held[best], scores[best], fresh)


def moved(triples: Triples, variables: tuple[int, ...]) -> tuple[Explained, Found]:
    """Where the moves of a block begin: after which ordinal actions. Judged by action alone."""
    data = Explained(triples, Move(variables))
    best = data, by_action(data, Form(data.move))
    free = [v for v in variables if triples.ordinal[v]]
    amounts = np.flatnonzero(triples.action_ordinal).tolist()
    while free and amounts:
        shifts, offers = best[1].form.move.shifts, []
        for shift in product(free, amounts, (1, -1)):
            data = best[0].under(Move(variables, (*shifts, shift)))
            offers.append((data, by_action(data, Form(data.move))))
        offer = max(offers, key=lambda each: each[1].score)
        if not offer[1].beats(best[1]):
            break
        best = offer
        free = [v for v in free if all(v != shift[0] for shift in best[1].form.move.shifts)]
    data, found = unsaid(triples, variables, *best) if triples.named else best
    others = [evaluated(data, found.form._replace(most=most), found.shares) for most in MOSTS]
    best_most = max([found, *others], key=lambda each: each.score).form.most
    return data, evaluated(data, Form(data.move, most=best_most))


def unsaid(
    triples: Triples, variables: tuple[int, ...], data: Explained, plain: Found
) -> tuple[Explained, Found]:
    """The same with an edge that leads to one value, and with what actions add, where better.

    Each may show itself only with the other: both are offered together as well. What actions add
    leaves them alike in one place, and so is compared by place, not by action.
    """
    free = [v for v in variables if triples.ordinal[v]] if not data.move.shifts else []
    offers: list[tuple[Explained, Found]] = []
    for home in (None, *homes_of(triples, variables, data.values)):
        other, gone = data, None
        if home is not None:
            other = data.under(data.move._replace(edge=home.code))
            offers.append((other, by_action(other, Form(other.move))))
            gone = np.flatnonzero(data.values.of_state == home.value)
        added = [(v, amounts_of(triples, v, gone)) for v in free]
        shifts = tuple((v, amounts, 1) for v, amounts in added if amounts and any(amounts))
        if shifts:
            other = other.under(other.move._replace(shifts=shifts))
            offers.append((other, by_place(other)))
    z, place = luck(len(offers)), None
    for offer in sorted(offers, key=lambda each: -each[1].score):
        if not offer[1].beats(plain, z):
            break
        if not offer[0].move.found:
            return offer
        place = by_place(data) if place is None else place
        if offer[1].beats(place, z):
            return refined(*offer)
    return data, plain


def refined(data: Explained, found: Found) -> tuple[Explained, Found]:
    """What actions add, by one more or less wherever held-out pairs are likelier so.

    Edges hide how far a move would have gone.
    """
    before = None
    while found is not before:
        before = found
        for i, a, by in product(range(len(data.move.shifts)), range(data.triples.A), (1, -1)):
            shifts = list(data.move.shifts)
            variable, amounts, sign = shifts[i]
            assert isinstance(amounts, tuple)
            more = tuple(amount + by * (each == a) for each, amount in enumerate(amounts))
            shifts[i] = variable, more, sign
            other = data.under(data.move._replace(shifts=tuple(shifts)))
            offer = by_place(other)
            if offer.score > found.score + MARGIN:
                data, found = other, offer
    return data, found


def _score(found: Found) -> float:
    return found.score


def by_place(data: Explained) -> Found:
    """A form without contexts, or with the other variables of the state as the only one."""
    root = evaluated(data, Form(data.move))
    shifted = {shift[0] for shift in data.move.shifts}
    others = tuple(v for v in range(data.triples.k) if v not in shifted)
    return max(root, extended(data, root, others), key=_score) if others else root


def by_action(data: Explained, form: Form) -> Found:
    """A form without contexts, or with the action as the only one."""
    root = evaluated(data, form)
    return max(root, extended(data, root, (data.triples.k,)), key=lambda each: each.score)
