"""The structure of a block by held-out likelihood: its after-states, contexts and shrinkage.

A form is judged by what it says of pairs when fitted without their fold, for all pairs that were
met, those met once included:

    score = sum over pairs of w(n) mean log((1 - epsilon) q(s') + epsilon / V),
    w(n) = n / (1 + n / FEW)

epsilon is the share of exceptions that suits the form best; a pair met often counts as FEW visits.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from gim.analogy.structure.block import Form
from gim.analogy.structure.em import ITERATIONS, Stack, held_out
from gim.analogy.structure.explanations import Explained, Move
from gim.analogy.structure.moves import HOME, SIDES, Home, Values
from gim.analogy.structure.triples import Floats, Ints, Triples, ranked, summed

# -- what actions add, where nobody says so, and edges that lead home


FEW = 5.0  # visits that a pair counts for at the most, about
MOST_ACTIONS = 16
MOST_CELLS = 1 << 16  # places times changes
PASSES = 4  # through all actions
OFTEN = 0.1  # of the pairs must lead to a home


def amounts_of(triples: Triples, variable: int, home: Ints | None = None) -> tuple[int, ...] | None:
    """What each action adds to a variable, [A]; None if that cannot be told.

    Args:
        triples: what was counted.
        variable: an ordinal one.
        home: [S] states where moves end that went beyond an edge: they say nothing.
    """
    A, last = triples.A, int(triples.codes[:, variable].max(initial=0))
    others = tuple(v for v in range(triples.k) if v != variable)
    place = triples.states_by(others)
    C, E = int(place.max(initial=0)) + 1, 4 * last + 1
    if not 2 < A <= MOST_ACTIONS or last < 2 or C * E > MOST_CELLS:
        return None
    s, a = np.divmod(triples.pair, A)
    x, there = triples.codes[s, variable], triples.codes[triples.indices, variable]
    inside = (there > 0) & (there < last)  # what ends at an edge may have been stopped there
    if home is not None:
        inside &= ~np.isin(triples.indices, home)
    weight = triples.counts / (1.0 + triples.n.ravel()[triples.pair] / FEW)
    cell = (a * C + place[s]) * E + there - x + 2 * last
    table = np.bincount(cell[inside], weight[inside], A * C * E).reshape(A, C, E)
    seen = table.sum(axis=(1, 2))
    order = np.argsort(-seen, kind="stable")
    amounts = np.zeros(A, np.int64)
    for _ in range(PASSES):
        before = amounts.copy()
        for each in order[1:].tolist():
            rest = sum(_less(table[b], amounts[b]) for b in range(A) if b != each)
            offers = [_order(rest + _less(table[each], d)) for d in range(-last, last + 1)]
            amounts[each] = int(np.argmax(offers)) - last if seen[each] else 0
        if (amounts == before).all():
            break
    amounts -= int(np.median(amounts))
    return tuple(amounts.tolist())


def _less(table: Floats, amount: int) -> Floats:
    """Changes [places, changes] less an amount."""
    return np.roll(table, -amount, axis=1)


def _order(table: Floats) -> float:
    """How predictable changes are in each place: the log-likelihood by their own shares."""
    total = np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    return float((table * np.log(np.maximum(table, 1e-300) / total)).sum())


def home_of(triples: Triples, variables: tuple[int, ...], values: Values) -> Home | None:
    """The edge of a block beyond which moves may lead to one value; None if there is none.

    The value is that to which most pairs lead from afar, the edge the one to which they are
    nearest.
    """
    s, there = triples.pair // triples.A, values.of_state[triples.indices]
    codes = values.codes / np.maximum(values.sizes - 1, 1)
    far = ((codes[there] - codes[values.of_state[s]]) ** 2).sum(axis=1)
    seen, first = np.unique(np.column_stack([there, triples.pair]), axis=0, return_index=True)
    drawn = np.bincount(seen[:, 0], far[first], len(values.codes))
    home = int(drawn.argmax()) if drawn.size else 0
    lead = np.isin(triples.met, seen[seen[:, 0] == home, 1])
    if not OFTEN * lead.size < lead.sum() < lead.size:
        return None
    near, best = 0.0, None
    for place, v in enumerate(variables):
        x = triples.codes[triples.met // triples.A, v].astype(np.float64)
        if not triples.ordinal[v] or not x.std():
            continue
        gap = float(x[lead].mean() - x[~lead].mean()) / float(x.std())
        edge = values.codes[home, place] == (values.sizes[place] - 1 if gap > 0 else 0)
        if abs(gap) > near and not edge:  # where it is the edge itself, that is to be clipped
            near, best = abs(gap), Home(place, gap > 0, home)
    return best


# --


EXCEPTIONS = np.array([0.001, 0.01, 0.05, 0.2])
KAPPAS = np.array([0.03, 0.3, 3.0, 30.0])
DEPTH = 4  # levels of contexts below the root
MOST_FEATURES = 24  # that a search looks at
EACH_TWO = 6  # variables of the state, or actions, up to which each two are tried
MANY = 2000  # pairs of which a part tells which features are worth a closer look
LEADING = 4  # single features that are tried in pairs
FINALISTS = 2  # of which one is the next level
MARGIN, Z = 1.0, 2.0  # a finer form must be better by so many nats and standard errors
LUCK = 3.5  # standard errors by which the best of some hundred forms is better by luck alone
CERTAIN = 0.6  # share of changes that are as found, from which nothing is refined
CLOSE = 0.05  # part of the log-likelihood by which what is refined may be behind at first
ROUNDS = 6  # of refining
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
    return plain if plain.beats(offer, LUCK if pay else Z) else offer


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
        z = np.sqrt(Z**2 + 2 * np.log(max(1, len(tried))))
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
    change, weight = ranked(target - base), data.weights(FEW).of
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
    here = data.fold[data.slot] < folds
    weight, slot = data.weights(FEW).of[here], data.slot[here]
    V, P = len(data.values.codes), len(data.pairs)
    return max(float(logs(each[here], weight, slot, P, V).sum()) for each in held)


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
    weight, V = data.weights(FEW).of, len(data.values.codes)
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
    if triples.given:  # coordinates that were read off numbers are no place for subtleties
        best = _found(triples, variables, best)
    data, found = best
    others = [evaluated(data, found.form._replace(most=most), found.shares) for most in MOSTS]
    best_most = max([found, *others], key=lambda each: each.score).form.most
    return data, evaluated(data, Form(data.move, most=best_most))


def _found(
    triples: Triples, variables: tuple[int, ...], best: tuple[Explained, Found]
) -> tuple[Explained, Found]:
    """The same with an edge that leads home and with what actions add, where that is better.

    Each may show itself only with the other: both are looked for together as well.
    """
    home = home_of(triples, variables, best[0].values)
    edges = [best[0].move.edge] + ([] if home is None else [home.code])
    free = [v for v in variables if triples.ordinal[v]] if not best[0].move.shifts else []
    offers = []
    for edge in edges:
        data = best[0]
        if edge != data.move.edge:
            data = data.under(data.move._replace(edge=edge))
            found = by_action(data, Form(data.move))
            best = (data, found) if found.beats(best[1]) else best
        gone = np.flatnonzero(data.values.of_state == home.value) if home and edge >= HOME else None
        added = [(v, amounts_of(triples, v, gone)) for v in free]
        shifts = tuple((v, amounts, 1) for v, amounts in added if amounts is not None)
        if any(any(amounts) for _, amounts, _ in shifts):
            data = data.under(data.move._replace(shifts=shifts))
            offers.append((data, placed(data)))
    if offers:
        offer = max(offers, key=lambda each: each[1].score)
        plain = max(best[1], placed(best[0]), key=_score)
        if offer[1].score > (1 + CLOSE) * plain.score:  # else refining does not catch up
            offer = refined(triples, offer)
            best = offer if offer[1].beats(plain) else best
    return best


def refined(triples: Triples, best: tuple[Explained, Found]) -> tuple[Explained, Found]:
    """What actions add, by more or less where that explains held-out pairs better.

    Edges hide how far a move would have gone: what `amounts_of` finds may be off by one or two. Two
    actions may be off together, so that neither is better alone.
    """
    alone = [(a,) for a in range(triples.A)]
    together = list(combinations(range(triples.A), 2)) if triples.A <= EACH_TWO else []
    for _ in range(ROUNDS):
        before = best
        for which, by in (*product(alone, (1, -1, 2, -2)), *product(together, (1, -1))):
            if len(which) > 1 and best is not before:
                break  # those alone first
            for i in range(len(best[0].move.shifts)):
                if not uniform(best[0], i):
                    data = best[0].under(shifted(best[0].move, i, which, by))
                    found = placed(data)
                    best = (data, found) if found.score > best[1].score + MARGIN else best
        if best is before:
            break
    return best


def shifted(move: Move, i: int, actions: tuple[int, ...], by: int) -> Move:
    """The same move if these actions add so much more in shift i."""
    shifts = list(move.shifts)
    variable, amounts, sign = shifts[i]
    assert isinstance(amounts, tuple)
    more = tuple(amount + by * (a in actions) for a, amount in enumerate(amounts))
    shifts[i] = (variable, more, sign)
    return move._replace(shifts=tuple(shifts))


def placed(data: Explained) -> Found:
    """A form without contexts, or with the other variables of the state as the only one."""
    root = evaluated(data, Form(data.move))
    shifts = enumerate(data.move.shifts)
    open_ = {shift[0] for i, shift in shifts if not uniform(data, i)}
    others = tuple(v for v in range(data.triples.k) if v not in open_)
    return max(root, extended(data, root, others), key=_score) if others else root


def uniform(data: Explained, i: int) -> bool:
    """Whether shift i leaves nothing open: all actions do to its variable what was found."""
    place = data.move.variables.index(data.move.shifts[i][0])
    change = data.values.codes[data.target, place] - data.start.base[data.slot, place]
    base, edge = data.start.base[data.slot, place], data.move.edge
    told = (base >= 0) & (base < data.values.sizes[place])
    if edge >= HOME:
        told &= data.target != (edge - HOME) // SIDES
    return bool((change[told] == 0).mean() > CERTAIN) if told.any() else True


def _score(found: Found) -> float:
    return found.score


def by_action(data: Explained, form: Form) -> Found:
    """A form without contexts, or with the action as the only one."""
    root = evaluated(data, form)
    return max(root, extended(data, root, (data.triples.k,)), key=lambda each: each.score)
