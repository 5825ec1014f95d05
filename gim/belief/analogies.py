"""What was learned, in words: `run.analogies()`.

Of the candidates that can say what they found (`Candidate.speaks`) the one under which held-out
pairs are most likely does so, if they are likelier than by mere means. The agent itself may rely on
another that predicts better and has no words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from gim.analogy.analogy import LEAST_GAIN, Analogy, Inferred
from gim.analogy.base import Frame
from gim.analogy.candidates import Candidate, Fitted, suited
from gim.analogy.cross_validation import Answers, CrossValidation
from gim.analogy.structure.rule import Rule, RuleNames, phrase
from gim.belief.knowledge import Knowledge
from gim.mdp.names import Names
from gim.mdp.variables import Variables
from gim.model.counts import Counts
from gim.model.task import Task

PLAIN = "means"  # the family of candidates that rules must be better than
MATTERS = 0.02  # squared error of a distribution by which rules must be better


def analogies(counts: Counts, frame: Frame, names: RuleNames) -> list[Rule]:
    """A rule for each action, as far as the counts bear it out; [] if they do not."""
    analogy, rng = Analogy(), np.random.default_rng(0)  # folds: the same counts, the same words
    split = analogy.split(counts, frame, rng)
    if split is None:
        return []
    known = [each for each in suited(split.data) if each.speaks]
    frame = frame._replace(models=())
    found, plain = (
        analogy.choose(split, frame, each) for each in (known, suited(split.data, PLAIN))
    )
    if found is None or found.candidate is None:
        return []
    said = anything(split) if plain is None else plain.said
    if not better(split, found.said, said):
        return []
    rules = split.fitted(found.candidate).rules(names)
    for nats, other in nearly(analogy, split, found, known):
        rules = [beside(rule, other.rules(names), nats) for rule in rules]
    return rules


def nearly(
    analogy: Analogy, split: CrossValidation, found: Inferred, known: list[Candidate]
) -> list[tuple[float, Fitted]]:
    """Other candidates that explain pairs held out nearly as well, and by how many nats less."""
    others = [each for each in known if str(each) != found.name]
    behind = [
        (found.worth.gain - analogy.gain(split, name, said, each), split.fitted(each))
        for each in others
        for name, said in split.race([each]).items()
    ]
    return sorted((each for each in behind if each[0] < LEAST_GAIN), key=lambda each: each[0])


def beside(rule: Rule, others: list[Rule], nats: float) -> Rule:
    """A rule with what another structure says of the same, if that is something else."""
    for other in others:
        same = {phrase(change) for change, _ in other.outcomes}
        own = {phrase(change) for change, _ in rule.outcomes}
        if not rule.rival and (other.action, other.where) == (rule.action, rule.where):
            return replace(rule, rival=other.does, nats=nats) if same != own else rule
    return rule


def analogies_of(belief: Knowledge, task: Task, states: Names, actions: Names) -> list[Rule]:
    """The rules in what an agent has counted, in the names of its world."""
    made_of = (task.variables, task.action_variables)
    frame = Frame(task.available, belief.terminal, (0.0, 1.0), (), *made_of)
    return analogies(belief.counts, frame, rule_names(states, actions, *made_of))


def anything(split: CrossValidation) -> Answers:
    """What is said of pairs by one who knows nothing; whole rows, S numbers each, are left out."""
    S, K = split.data.S, split.pairs.size
    rows = sparse.csr_array((split.judges.size, S))
    said = np.full(split.N.size, 1 / S), np.full(K, 1 / S), np.zeros(K, np.int64)
    return Answers(*said, np.full(K, np.inf), rows)


def better(split: CrossValidation, one: Answers, other: Answers) -> bool:
    """Whether one predicts held-out pairs better than another, and by so much that it matters."""
    gain = split.weights * (split.errors(other) - split.errors(one))
    return bool(gain.sum() > 2.0 * np.sqrt(gain @ gain) + MATTERS * split.weights.sum())


def rule_names(
    states: Names,
    actions: Names,
    variables: Variables | None,
    action_variables: Variables | None,
) -> RuleNames:
    """How a world's own names appear in rules."""
    levels = () if variables is None else variables.levels
    return RuleNames(
        () if variables is None else variables.names,
        [actions[a] for a in range(len(actions))],
        () if action_variables is None else action_variables.names,
        levels,
        states.labels,
        [_unit(values) for values in levels],
    )


def _unit(values: Any) -> float:
    """The distance of two neighbouring values of an ordinal variable."""
    try:
        unit = values[1] - values[0]
    except (IndexError, TypeError):
        return 1
    return int(unit) if unit == int(unit) else float(unit)
