"""Analogies that people can see: predictions from the variables that states are made of."""

from gim.inference.structure.blocks import fitted
from gim.inference.structure.triples import Triples

__all__ = ["Triples", "fitted"]
