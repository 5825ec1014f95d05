"""Try the newest numba that pip offers: the tests of compiled code, in an environment of its own.

    python -m tools.newest_numba         # or: make numba

Both ways are tried, by numba's internals and by its public interface; what fails is said. The bound
in pyproject.toml may be raised when all pass.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = (
    *("test_jit", "test_frames", "test_compile_cache", "test_agent_functions"),
    *("test_numba_interface", "test_golden"),
)


def main() -> int:
    """Install it beside the tree, and run the tests with it."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder, "bin", "python"))
        free = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
        install = [python, "-m", "pip", "install", "--quiet", "--upgrade"]
        subprocess.run([*install, f"{ROOT}[plot]", "pytest", "hypothesis"], env=free, check=True)
        subprocess.run([*install, "numba"], env=free, check=True)
        told = "import numba; print(numba.__version__)"
        version = subprocess.run([python, "-c", told], capture_output=True, text=True, check=True)
        print(f"numba {version.stdout.strip()}", flush=True)
        files = [f"tests/{name}.py" for name in TESTS]
        done = subprocess.run(
            [python, "-m", "pytest", "-q", *files],
            cwd=ROOT,
            env=free | {"NUMBA_CACHE_DIR": str(Path(folder, "cache"))},
            check=False,
        )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
