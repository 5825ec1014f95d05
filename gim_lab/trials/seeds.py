"""The blocks of seeds of the studies beyond the paper: to choose, to compare, and to rehearse."""

from __future__ import annotations

from gim_lab.experiments.scale import Scale

# First seeds: to choose the best plain learner, and to compare all. Of the blocks before some were
# looked at, and the learner or its certificates then changed (docs/study.md).
CHOICE, MEASURE = 6000, 7200
REHEARSAL = -4000  # added to them where work is not whole: seeds that count are not looked at


def seeds(scale: Scale, first: int = MEASURE) -> range:
    """Those of the runs at a scale; what was rehearsed is not played again where it counts."""
    first += 0 if scale.whole else REHEARSAL
    return range(first, first + scale.runs)
