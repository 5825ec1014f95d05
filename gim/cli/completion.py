"""Print a script that completes `gim` commands in your shell.

    gim completion bash >> ~/.bashrc
    gim completion zsh >> ~/.zshrc
    gim completion fish > ~/.config/fish/completions/gim.fish

Commands, their options, and the names of worlds, agents and artefacts are completed; print it again
after an update or for things of your own packages."""

from __future__ import annotations

import argparse

from gim.cli.command import commands, parsers_of
from gim.envs import tasks
from gim.runs.agent import agents

SHELLS = ("bash", "zsh", "fish")
BASH = """\
_gim() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then words="{commands}"; fi
    case "$before" in
        --agent|--agents) words="{agents}" ;;
        --out|--save|--save-policy|--resume|--plot) words="" ;;
    esac
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
    if [ ${{#COMPREPLY[@]}} -eq 0 ]; then COMPREPLY=( $(compgen -f -- "$word") ); fi
}}
complete -F _gim gim
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def options(parser: argparse.ArgumentParser) -> None:
    """Take a shell."""
    parser.add_argument("shell", choices=SHELLS, help="for which shell")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    script = _fish() if args.shell == "fish" else _bash()
    print((ZSH if args.shell == "zsh" else "") + script, end="")
    return 0


def words_of() -> dict[str, list[str]]:
    """What may follow each command: its options, and the names of things that it takes."""
    worlds, people = tasks.names(), agents.names()
    things = {
        "train": worlds,
        "compare": worlds,
        "inspect": worlds,
        "play": worlds,
        "envs": worlds,
        "agents": people,
        "completion": list(SHELLS),
    }
    known = commands()
    things |= {name: module.names() for name, module in known.items() if hasattr(module, "names")}
    return {
        name: [
            *(word for action in parser._actions for word in action.option_strings),
            *things.get(name, ()),
        ]
        for name, parser in parsers_of().items()
    }


def _bash() -> str:
    found = words_of()
    cases = "\n".join(f'        {name}) words="{" ".join(w)}" ;;' for name, w in found.items())
    people = " ".join(agents.names())
    return BASH.format(cases=cases, commands=" ".join(found), agents=people)


def _fish() -> str:
    lines = ["complete -c gim -f"]
    for name, words in words_of().items():
        seen = f"__fish_seen_subcommand_from {name}"
        lines.append(f"complete -c gim -n __fish_use_subcommand -a {name}")
        plain = " ".join(word for word in words if not word.startswith("-"))
        if plain:
            lines.append(f"complete -c gim -n '{seen}' -a '{plain}'")
        for word in words:
            if word.startswith("--"):
                more = f" -xa '{' '.join(agents.names())}'" if word.startswith("--agent") else ""
                lines.append(f"complete -c gim -n '{seen}' -l {word[2:]}{more}")
    return "\n".join(lines) + "\n"
