"""Ways to explore: how the next action is chosen while the world is not known well enough."""
