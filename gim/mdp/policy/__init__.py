"""Policies: what to do in each state, as an array, a function, a table and a file."""

from gim.mdp.policy.policy import Policy

__all__ = ["Policy"]
