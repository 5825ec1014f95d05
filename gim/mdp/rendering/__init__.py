"""How a state is shown: as text, or as pixels."""
