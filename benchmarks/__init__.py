"""Measurements against peers and against the floor: ``make bench``."""
