"""The paper's claims, by subject."""
