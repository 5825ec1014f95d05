"""What an agent knows of the world: counts, dynamic matrices, completion, the learned model."""
