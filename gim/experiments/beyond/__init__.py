"""Beyond the paper: studies that could prove learning by analogy wrong. One file each."""
