"""What is believed of every pair, how firmly, and what follows: evidence, certificates, words.

Imports analogy and what is below. Begin with `belief.py`, then `evidence.py`.
"""
