"""The frame of the command `gim`: finds the subcommands, and turns every error into one line.

To add a subcommand is to write one file in this package, or a module of another package that names
it among its entry points, in the group ``gim.commands``, as ``hello = "my_gim.hello"``::

    \"\"\"What it does, in a line: the help.\"\"\"

    def options(parser): ...       # its arguments, as argparse takes them
    def run(args) -> int: ...      # the exit status; raise ValueError or OSError for what is wrong
    def names() -> list[str]: ...  # if it likes: words that shells are to complete
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import re
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NoReturn, TextIO, cast

import gim
from gim._base.escapes import CONTROL, DEAD, Guarded
from gim._base.interrupts import broken_off, commanded, ending
from gim._base.limits import bounded_memory, too_large
from gim._base.own import import_own
from gim._base.registry import did_you_mean
from gim.cli import starting
from gim.cli.colour import coloured, paint

FAILED, WRONG, RESUMABLE, INTERRUPTED = 1, 2, 75, 130  # exit statuses
BUG = (
    f"this is a bug of gim {gim.__version__} or of a plugin: please report it with the lines above "
    "and the command that was given"
)
GROUP = "gim.commands"  # of entry points
LONGEST = 1000  # letters of a message
TOO_BIG = ("array is too big", "Maximum allowed", "negative dimensions")  # numpy's ValueErrors

WELCOME = """\
gim: reinforcement learning by analogy in finite Markov decision processes

  gim train inventory --episodes 30           let an agent learn, and see what it has learned
  gim envs                                    the worlds there are, with their parameters
  gim agents                                  the agents there are, with theirs

  gim check LOG.csv                           what is wrong with a log or an environment
  gim learn LOG.csv --out FOLDER              a policy from a log of what happened
  gim compare riverswim --agents "psrl,gim"   agents side by side, with intervals
  gim new agent NAME                          a file to begin with, for an agent of your own
  gim doctor                                  whether all is well with this installation

`gim --help` lists all commands, `gim COMMAND --help` tells more about one.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    0 is success; 2 something wrong, said in one line on stderr; 75 Ctrl-C, TERM or HUP where it can
    go on later, 130 where it cannot; 1 a bug, the only one that shows where it happened.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without unicode gets "?" and no traceback
            stream.reconfigure(errors="replace")
    out, err = (
        Guarded(stream, stream.isatty() or coloured(stream)) for stream in (sys.stdout, sys.stderr)
    )
    with redirect_stdout(cast(TextIO, out)), redirect_stderr(cast(TextIO, err)):
        return _answer(words)


def _answer(words: list[str]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning
        try:  # a signal may also come while it says what is wrong
            with commanded(lambda: ("interrupted", INTERRUPTED)):
                return _status(words)
        except KeyboardInterrupt:
            return _say("interrupted", INTERRUPTED)


def _status(words: list[str]) -> int:
    """Run the command; say in one line what is wrong."""
    try:
        with bounded_memory():
            status = _run(words)
            sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough: gim envs | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError) as problem:
        return _say(message(problem), WRONG)
    except MemoryError as problem:
        return _say(too_large(problem), WRONG)
    except RecursionError:
        return _say("what was given is nested too deep", WRONG)
    except CanGoOn as stop:
        return _say(f"interrupted; {stop}", RESUMABLE)
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except SystemExit as end:  # argparse, after --help and --version
        return int(end.code or 0)
    except Exception as problem:
        if is_interrupt(problem):
            return _say("interrupted", INTERRUPTED)
        traceback.print_exc()
        return _say(BUG, FAILED)
    return status


def commands(only: str | None = None) -> dict[str, ModuleType]:
    """The subcommands: every file of this package that has `options`; `only` one, if it is one.

    Those of other packages come by their entry points; one that fails is left out with a warning.
    What another command needs is not imported for `only` one: that may take longer than this one.
    """
    folder = os.path.dirname(__file__)
    names = [module.name for module in pkgutil.iter_modules([folder])]
    modules = {name: import_module(f"gim.cli.{name}") for name in names if only in (None, name)}
    found = {name: module for name, module in modules.items() if hasattr(module, "options")}
    for entry in entry_points(group=GROUP):
        if only in (None, entry.name):
            module = found.get(entry.name) or _of_others(entry)
            if module is not None:
                found[entry.name] = module
    return dict(sorted(found.items()))


def _of_others(entry: EntryPoint) -> ModuleType | None:
    """The subcommand of another package."""
    try:
        module: ModuleType = entry.load()
        if not (hasattr(module, "options") and hasattr(module, "run") and module.__doc__):
            raise ValueError("it needs a docstring, options(parser) and run(args)")
    except Exception as problem:  # foreign code, which may raise anything
        kind = "" if isinstance(problem, ValueError) else f"{type(problem).__name__}: "
        reason = kind + " ".join(str(problem).split())
        warnings.warn(
            f"the command {entry.name!r} ({entry.value}) is left out: {reason}", stacklevel=2
        )
        return None
    return module


def needs(extra: str, *packages: str) -> None:
    """Fail before long work if what only an extra brings is missing."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise ValueError(f'this needs {", ".join(missing)}: pip install "gim[{extra}]"')


def whole(text: str) -> int:
    """Read a whole number, also one written as 1e6."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not number.is_integer() or abs(number) > 1e30:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number such as 1000 or 1e6")
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else int(number)


def minutes(text: str, unit: str = "minutes") -> float:
    """Read how many minutes, or others of a unit."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number of {unit}, such as 10")
    return number


seconds = partial(minutes, unit="seconds")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


def _run(words: list[str]) -> int:
    if not words:
        print(WELCOME, end="")
        return 0
    known = commands(words[0]) or commands()
    if not words[0].startswith("-") and words[0] not in known:
        raise ValueError(f"unknown command {words[0]!r}{did_you_mean(words[0], known)}")
    starting.imported()
    parser, parsers = _parsers(known)
    args, rest = parser.parse_known_args(words)
    if rest:
        raise ValueError(_unrecognized(rest, parsers[words[0]]))
    for what in args.imports:
        import_own(what)
    return int(args.run(args))


def parsers_of() -> dict[str, argparse.ArgumentParser]:
    """The parser of each subcommand."""
    return _parsers(commands())[1]


def _parsers(
    known: dict[str, ModuleType],
) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = _Parser("gim", description=(gim.__doc__ or "").splitlines()[0], allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"gim {gim.__version__}")
    parsers: Any = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, module in known.items():
        text = (module.__doc__ or "").strip()
        command = parsers.add_parser(
            name,
            help=text.splitlines()[0],
            description=text,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.options(command)
        command.add_argument(
            "--import",
            action="append",
            default=[],
            dest="imports",
            metavar="FILE_OR_MODULE",
            help="import agents, tasks and environments of your own first",
        )
        command.set_defaults(run=module.run)
    return parser, dict(parsers.choices)


def _unrecognized(rest: list[str], parser: argparse.ArgumentParser) -> str:
    """What is said of words that no option takes: the nearest option, if it looks like one."""
    text = f"unrecognized arguments: {' '.join(rest)}"
    wrong = next((word.split("=")[0] for word in rest if word.startswith("--")), None)
    if wrong is None:
        return f"{text} (see {parser.prog} --help)"
    known = [word for action in parser._actions for word in action.option_strings]
    hint = did_you_mean(wrong, known)
    return f"{text}{hint}" if "mean" in hint else f"{text} (see {parser.prog} --help)"


def _say(text: str, status: int) -> int:
    with suppress(OSError):  # the terminal may be gone
        print(f"{paint('gim:', 'red', sys.stderr)} {text}", file=sys.stderr)
    return status


class CanGoOn(KeyboardInterrupt):
    """A command was interrupted that can go on later; the text says how."""


@contextmanager
def can_go_on(how: str) -> Iterator[None]:
    """What is interrupted inside can go on later, and `how` says how."""
    with ending(lambda: (f"interrupted; {how}", RESUMABLE)):
        try:
            yield
        except BaseException as problem:
            if is_interrupt(problem):
                raise CanGoOn(how) from None
            raise


def is_interrupt(problem: BaseException) -> bool:
    """Whether this was Ctrl-C, also at the moment in which compiled code hands its result over.

    Or what has become of it in the code of others (`broken_off`): what fails after it fails for it,
    unless something is wrong with what was given or with a disk.
    """
    if broken_off() and isinstance(problem, Exception):
        return not isinstance(problem, (ValueError, OSError))
    cause: BaseException | None = problem
    while isinstance(cause, SystemError):  # one for each call that it came through
        cause = cause.__cause__
    return isinstance(cause, KeyboardInterrupt)


def message(problem: Exception) -> str:
    """What is wrong, in one line."""
    if isinstance(problem, FileNotFoundError) and not problem.filename and _folder_is_gone():
        text = "the current folder was deleted: change to one that exists"
    elif isinstance(problem, OSError) and problem.strerror:
        text = f"{problem.filename}: {problem.strerror}" if problem.filename else problem.strerror
    else:
        text = str(problem)
    text = _line(text)
    if text.startswith(TOO_BIG):
        text = too_large(problem)
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2  # what is wrong stands at either end, a long name in the middle
    return f"{text[:half]} ... {text[-half:]}"


def _folder_is_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _line(text: str) -> str:
    """The text in one line, and without what would steer the terminal: files may hold anything."""
    return CONTROL.sub(DEAD, " ".join(text.split()))


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    text = re.sub(r"\x1b\[[\d;]*m", "", str(message))  # some packages colour theirs
    print(f"{paint('gim: note:', 'yellow', sys.stderr)} {_line(text)}", file=sys.stderr)
