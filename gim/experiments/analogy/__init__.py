"""Beyond the paper: studies that could prove learning by analogy wrong. One file each."""

# As a reader asks: does it pay, does it harm, may it be trusted, how to walk for it.
ORDER = ("ranks", "unrelated", "classics", "certificate", "budgets")
