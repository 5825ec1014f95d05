"""The README as packages carry it: it names files of the source distribution, without links."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"^!\[[^]]*\]\((?!https?:)[^)]*\)\n", re.M)
LINK = re.compile(r"\[([^]]+)\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


class CustomMetadataHook(MetadataHookInterface):
    """Adds the readme to the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": outside(text)}


def outside(text: str) -> str:
    """The text without pictures and links that only the repository has."""
    plain = LINK.sub(lambda found: f"{found[1]} (`{found[2]}`)", PICTURE.sub("", text))
    return f"{plain.rstrip()}\n\nFiles named in brackets are those of the source distribution.\n"
