"""Tools of the workshop: nothing here is needed to use gim."""
