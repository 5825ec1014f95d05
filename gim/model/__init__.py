"""What is known of a world: `Task`, counts, dynamic matrices, completion, `LearnedModel`.

Imports mdp and what is below. Begin with `counts.py`, then `learned.py`.
"""
