"""The paper's tables and figures, one file each: cells of trials, and what is read off them."""
