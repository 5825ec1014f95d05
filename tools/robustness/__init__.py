"""Faults, hostile inputs, extreme worlds and long runs: what must not break the project."""
