"""The kit for agents bites: an agent that breaks one rule is told which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pytest

from gim._base.params import OneOf
from gim._compile.memory import flatten
from gim.agents.ucbvi import UCBVI
from gim.model.counts import new_counts
from gim.runs.agent import agents
from gim.runs.loop import Compiled
from gim.testing import check_agent
from gim.testing.agents import small_worlds

RULES = {
    "kept": None,
    "word": "does not come back from its spec string",
    "seed": "a second run",
    "storage": "the other storage leaves another memory",
    "outside": "a paused and resumed run leaves another memory",
    "unavailable": "policy is none of this world",
    "deployed": "best_policy is none of this world: 5 states",
    "uncounted": "has no visit of .* the first pair that was played",
    "invented": r"the belief has n\(s'\|.* not the first of the 0 visits",
    "last": "not the first of the",
    "astray": r"n\(s'\|.*: not the first of the",
    "more": r"the belief has n\[.* by next state",
    "rewards": r"the belief has R\[.*its visits add up to",
    "squares": r"the belief has R2\[.*its visits add up to",
    "endless": r"the belief takes \[\] to be terminal.* that it counts in \[4\]",
    "ended": r"the belief takes \[0, 4\] to be terminal",
    "sum": "visits in all, by pair",
    "model": "model.visits are not those of the belief",
}
# What the kit plays, in this order, by the run that begins with another memory:
RUNS = {
    2: "a second run",
    3: "plain Python",
    4: "the stepwise loop",
    5: "the other storage",
    6: "a paused and resumed run",
    8: "checked indices",
}


@dataclass(frozen=True)
class Broken(UCBVI, name="test_broken"):
    """UCBVI, whose loop is compiled already, but for one rule that it breaks."""

    rule: Annotated[str, OneOf(*RULES), "what to break"] = "kept"
    other: Annotated[int, "the run that begins with another memory; 0: none"] = 0

    begun: ClassVar[list[int]] = []

    def __str__(self):
        return "test_broken" if self.rule == "word" else super().__str__()

    def start(self, task, rng):
        memory = super().start(task, rng)
        self.begun.append(1)
        memory.pause[0] += len(self.begun) == self.other
        return memory

    def think(self, memory, mind):
        memory = super().think(memory, mind)
        if self.rule == "seed":
            memory.pause[0] = np.random.default_rng().integers(1 << 40)
        elif self.rule == "storage":
            memory.pause[0] = mind.task.truth.sparse
        elif self.rule == "outside":
            memory.pause[0] = mind.kept["thoughts"] = mind.kept.get("thoughts", 0) + 1
        return memory

    def policy(self, memory):
        policy = super().policy(memory)
        return 0 * policy if self.rule == "unavailable" else policy

    def greedy(self, memory, task):
        return np.zeros(task.S + 1, np.int64)

    def model(self, memory, task):
        if self.rule == "deployed":
            return None
        found = super().model(memory, task)
        return found.with_(visits=found.visits + 1) if self.rule == "model" else found

    def belief(self, memory):
        belief = memory.belief
        (S, A), counts = belief.counts.n.shape, belief.counts
        counts = counts._replace(**{key: array.copy() for key, array in flatten(counts).items()})
        ends, visits = belief.terminal.copy(), belief.visits.copy()
        N, (s, a) = counts.next.reshape(S, A, S), divmod(int(counts.n.argmax()), A)
        if self.rule == "uncounted":
            counts = new_counts(S, A)
        elif self.rule == "invented":
            s, a = np.argwhere(counts.n == 0)[0]
            counts.n[s, a] = N[s, a, 0] = 1
        elif self.rule == "last":  # but for the first visits
            t = N[s, a].argmax()
            counts.n[s, a] = N[s, a, t]
            N[s, a, :t] = N[s, a, t + 1 :] = 0
        elif self.rule == "astray":
            N[s, a] = np.roll(N[s, a], 1)
        elif self.rule == "more":
            counts.n[s, a] += 1
        elif self.rule in ("rewards", "squares"):
            (counts.R if self.rule == "rewards" else counts.R2)[s, a] += 0.5
        elif self.rule in ("endless", "ended"):
            ends[0 if self.rule == "ended" else slice(None)] = self.rule == "ended"
        elif self.rule == "sum":
            visits += 1
        return belief._replace(counts=counts, terminal=ends, visits=visits)


agents._made.pop("test_broken")  # other files of tests ask for all agents when they are imported


@pytest.fixture(autouse=True)
def registered():
    agents.add("test_broken", Broken)
    Broken.begun.clear()
    yield
    agents._made.pop("test_broken")


def check(agent):
    """In the world with noise, a terminal state and missing actions alone."""
    check_agent(agent, small_worlds()[1:])


@pytest.mark.parametrize(("rule", "complaint"), [item for item in RULES.items() if item[1]])
def test_an_agent_that_breaks_a_rule_is_told_which(rule, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check(Broken(rule=rule))


@pytest.mark.parametrize(("run", "complaint"), RUNS.items())
def test_a_run_that_differs_is_told_by_its_name(run, complaint):
    with pytest.raises(AssertionError, match=f": {complaint} "):
        check(Broken(other=run))


def test_references_that_are_kept_are_noticed(monkeypatch):
    kept, advance = [], Compiled.advance

    def keeping(self, memory, clock, returns, budget):
        kept.extend(flatten(memory).values())
        return advance(self, memory, clock, returns, budget)

    monkeypatch.setattr(Compiled, "advance", keeping)
    with pytest.raises(AssertionError, match="references to its memory leak"):
        check(Broken())


def test_an_agent_that_breaks_none_passes():
    check(Broken())
