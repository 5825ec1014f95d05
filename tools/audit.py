"""Ask for known weaknesses of what is installed: `make audit`.

Needs pip-audit and a source of advisories that can be reached. Where there is none, that is said,
and the exit status is 2: nothing was checked. A weakness that is known is status 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

COMMAND = (
    "-m",
    "pip_audit",
    "--local",
    "--skip-editable",
    "--progress-spinner",
    "off",
    "-f",
    "json",
)


def main() -> int:
    """Audit this environment; the exit status."""
    done = subprocess.run([sys.executable, *COMMAND], capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, LookupError, TypeError):
        why = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        print(f"nothing was audited, pip-audit gave no answer: {why}", file=sys.stderr)
        return 2
    status, text = verdict(found)
    print(text, file=sys.stdout if status == 0 else sys.stderr)
    return status


def verdict(found: Sequence[Mapping[str, Any]]) -> tuple[int, str]:
    """Exit status and words for what pip-audit says of each package.

    Example:
        >>> verdict([{"name": "a", "version": "1", "vulns": []}])
        (0, '1 package audited, none with a known weakness')
        >>> verdict([{"name": "a", "skip_reason": "not found"}])
        (2, 'nothing was audited: no source of advisories knows any of 1 package')
    """
    weak = [
        f"{each['name']} {each['version']}: {known['id']}"
        for each in found
        for known in each.get("vulns", ())
    ]
    if weak:
        return 1, "known weaknesses:\n" + "\n".join(weak)
    audited = sum("vulns" in each for each in found)
    if not audited:
        return 2, f"nothing was audited: no source of advisories knows any of {_count(len(found))}"
    left = len(found) - audited
    skipped = f"; {_count(left)} could not be looked up" if left else ""
    return 0, f"{_count(audited)} audited, none with a known weakness{skipped}"


def _count(n: int) -> str:
    return f"{n} package{'' if n == 1 else 's'}"


if __name__ == "__main__":
    sys.exit(main())
