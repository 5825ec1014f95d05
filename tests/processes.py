"""A fresh interpreter beside the test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLAIN = {"NUMBA_DISABLE_JIT": "1"}  # nothing is compiled


def python(*words, folder=ROOT, **environment):
    """How `python ...` ends in a folder, where gim and what lies there are found."""
    path = {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=folder,
        env=os.environ | path | environment,
        capture_output=True,
        text=True,
        check=False,
    )
