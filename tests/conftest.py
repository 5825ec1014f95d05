"""One thread for linear algebra, since small batched problems are slower with more and bits differ.

No deadline for examples: the first may have to compile, and a loaded machine changes nothing.

Whoever starts the tests in the background may have Ctrl-C and the end of a terminal ignored, which
all that is started here would take over: here they are heard.
"""

import os
import re
import signal
from pathlib import Path

import pytest

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")

HEARD = {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL, "SIGTERM": signal.SIG_DFL}
for name, handler in HEARD.items():
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

from hypothesis import settings  # noqa: E402

settings.register_profile("gim", deadline=None)
settings.load_profile("gim")

collect_ignore = ["mortal.py"]  # whoever imports it has one more agent


@pytest.fixture
def refuses(capsys):
    """Run the command, expect one clear line on stderr, status 2, and nothing written."""
    from gim.cli import main

    def call(*words, because):
        before = set(Path().rglob("*"))
        assert main(words) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert re.search(because, err), err
        assert err.startswith("gim: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert set(Path().rglob("*")) == before

    return call
