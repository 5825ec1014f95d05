"""Learners without inference: UCBVI with five bonuses, of which studies take the best."""

from __future__ import annotations

# UCBVI's `scale`. With `none` a rule sets it, as in the Analogist: that is the same learner without
# inference, which tables call the plain twin.
BONUSES = ("none", "0.003", "0.01", "0.03", "0.1")
SWEEP = {bonus: f"ucbvi:scale={bonus},growth=0.1" for bonus in BONUSES}
