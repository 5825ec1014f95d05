"""What is the paper's own: Algorithm 1 and its alternatives (`walks`), its theory (`theory`).

Imports belief and what is below. Begin with `walks/curious.py`.
"""
