"""Learners without inference: UCBVI with five bonuses, of which studies take the best."""

from __future__ import annotations

# UCBVI's `scale`. With `none` a rule sets it and nothing is tuned: that one plans as the Analogist
# does, without inference, and tables call it the plain twin.
BONUSES = ("none", "0.003", "0.01", "0.03", "0.1")
SWEEP = {bonus: f"ucbvi:scale={bonus},growth=0.1" for bonus in BONUSES}
