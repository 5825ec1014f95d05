"""The settings under which the paper's experiments are run and its claims are judged.

"authors" is what the published code does, "fair" is the paper's text; "kindest" is the reading of
that text, task by task, under which GIM does best; "strong" are learners of today beside them. What
each means for an agent is in `gim_lab.experiments.paper.settings` and `.readings`.
"""

from __future__ import annotations

AUTHORS, FAIR, KINDEST, STRONG = "authors", "fair", "kindest", "strong"
SETTINGS = (AUTHORS, FAIR)  # those of the ledger
TITLES = {
    AUTHORS: "authors' settings",
    FAIR: "fair settings",
    KINDEST: "kindest reading",
    STRONG: "beside strong learners of today",
}


def setting_title(setting: str) -> str:
    """What tables and figures call a setting; one that is not known here has its own name.

    Example:
        >>> setting_title(FAIR), setting_title("tuned")
        ('fair settings', 'tuned')
    """
    return TITLES.get(setting, setting)
