"""Many units of one family: one level more of the belief.

Begin with `family.py`, then `kinds.py`.
"""
