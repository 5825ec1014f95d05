"""Compile once: a little of each kind of trial is played, then its loop is in the cache for all."""

from __future__ import annotations

from typing import Any

from gim._base.registry import Spec, parse
from gim.mdp.tabular import TabularMDP
from gim.runs.run import prepare
from gim.runs.runs import Run
from gim_lab.engines.base import TrialFailed
from gim_lab.engines.threads import one_thread
from gim_lab.trials.running import build
from gim_lab.trials.subject import Subject, subject_of
from gim_lab.trials.trial import Trial

ENOUGH = 100_000  # steps, which take some milliseconds


def compile_loops(trials: list[Trial]) -> None:
    """Play a little of each kind of trial here, so that workers find its loop in the cache."""
    kinds = {kind_of(trial): trial for trial in reversed(trials)}
    with one_thread():
        for trial in kinds.values():
            try:
                rehearse(trial)
            except ValueError as problem:
                raise TrialFailed(f"{trial.id}: {problem}") from None


def rehearse(trial: Trial) -> None:
    """Play so much of a trial that all it runs is compiled; what does not play has no loop."""
    agent = subject_of(trial.agent)
    if not isinstance(agent, Subject):
        world, n = build(trial.task), trial.episodes
        _play_a_little(prepare(agent, world, n, trial.seed, rewards=trial.rewards))


def kind_of(trial: Trial) -> tuple[Any, Any, str]:
    """What of a trial decides what is compiled: the kinds of its agent, its task, its rewards."""
    return _kind(trial.agent), _kind(trial.task), trial.rewards


def _play_a_little(run: Run) -> None:
    """Play an episode, and more if the agent, running compiled, has not planned by then."""
    run.pause_at(run.task.H)
    if run.plans == 0 and isinstance(run.world, TabularMDP):
        run.pause_at(ENOUGH)


def _kind(given: Any) -> Any:
    """What of a spec may matter to the compiler: not the numbers."""
    if isinstance(given, int | float):
        return type(given)
    if isinstance(given, str) and given.endswith(".npz"):
        return given
    spec = parse(given) if isinstance(given, str) else given
    if not isinstance(spec, Spec):
        return str(spec)
    return (spec.name, *((key, _kind(value)) for key, value in spec.args.items()))
