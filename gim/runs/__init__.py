"""What an agent is, the loops that play it, runs and their files, and what may be given to a run.

Imports envs and what is below, never an agent. Begin with `agent.py`, then `run.py` and `loop.py`.
"""
