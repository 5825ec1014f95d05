"""A headless Chromium, driven over its own debugging pipe: no package but the browser is needed."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--disable-extensions --disable-dev-shm-usage --remote-debugging-pipe"
)

# Chromium reads commands from descriptor 3 and answers on 4; ours may have any number.
ON_3_AND_4 = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 50) for end in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class Tab:
    """One page; `events` holds all that the browser told of it."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.events: list[dict[str, Any]] = []
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        browser.tabs[self.session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **params)

    def look(self, width: int, height: int, dark: bool = False) -> None:
        """Screen size and colour scheme, for what is opened or drawn from now on."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path) -> None:
        self.call("Page.navigate", url=path.absolute().as_uri())
        self.browser.until(lambda: any(e["method"] == "Page.loadEventFired" for e in self.events))

    def run(self, script: str) -> Any:
        """The value of an expression, awaited."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, path: Path, whole: bool = False) -> None:
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[Any]:
        """Errors and warnings on the console."""
        found: list[Any] = []
        for event in self.events:
            what, told = event["method"], event["params"]
            if what == "Runtime.exceptionThrown":
                found.append(told["exceptionDetails"])
            if what == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
                found.append(told["entry"]["text"])
            if what == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning"):
                found.append(told["args"])
        return found

    def requests(self) -> list[str]:
        """All that was asked for, the page itself apart."""
        asked = [e["params"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        urls = [each["request"]["url"] for each in asked if each.get("type") != "Document"]
        return [url for url in urls if not url.startswith("data:")]


class Browser:
    """A running Chromium."""

    def __init__(self, path: str, home: Path) -> None:
        to_read, from_us = os.pipe()
        to_us, to_write = os.pipe()
        words = [path, *FLAGS.split(), f"--user-data-dir={home}"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", ON_3_AND_4, str(to_read), str(to_write), *words],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        self.out, self.into = os.fdopen(from_us, "wb"), os.fdopen(to_us, "rb")
        self.numbers = itertools.count(1)
        self.answers: dict[int, dict[str, Any]] = {}
        self.tabs: dict[str, Tab] = {}
        self.rest = b""

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        self.out.write(json.dumps(message).encode() + b"\0")
        self.out.flush()
        self.until(lambda: number in self.answers)
        answer = self.answers.pop(number)
        assert "error" not in answer, answer
        return answer["result"]

    def until(self, true: Any) -> None:
        """Read messages until something is so."""
        while not true():
            while b"\0" not in self.rest:
                part = os.read(self.into.fileno(), 1 << 20)
                assert part, "chromium has ended"
                self.rest += part
            text, _, self.rest = self.rest.partition(b"\0")
            message = json.loads(text)
            if "id" in message:
                self.answers[message["id"]] = message
            elif (tab := self.tabs.get(message.get("sessionId", ""))) is not None:
                tab.events.append(message)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        with contextlib.suppress(BrokenPipeError):
            self.out.close()
        self.into.close()


@contextlib.contextmanager
def browser(home: Path) -> Iterator[Browser]:
    path = find()
    assert path is not None
    made = Browser(path, home)
    try:
        yield made
    finally:
        made.close()
