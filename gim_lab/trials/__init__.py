"""A trial is one agent in one world with one seed: what it is, runs, measures and keeps.

Begin with `trial.py`, then `running.py` and `store.py`.
"""
