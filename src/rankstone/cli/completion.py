"""Shell completion, made from the command's own arguments."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field

from rankstone.cli.options import Add
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import conventions
from rankstone.fusion.fusion_choices import FusionChoices
from rankstone.metrics.registry import declared
from rankstone.trec_eval.command import OPTIONS
from rankstone.trec_eval.measures import MEASURES, NICKNAMES
from rankstone.trec_eval.ranked_lists import FORMATS

_OF_OPTIONS = {"--metric": "metrics", "--convention": "conventions", "--set": "choices"}  # words that follow them


@dataclass
class CompletionOption:
    """An option of a command: how it is written, the words that may follow (None: it is a flag), what it does."""

    flags: tuple[str, ...]
    follows: list[str] | None
    help: str


@dataclass
class Completed:
    """A command: what it does, its options, and the words it takes without one."""

    help: str
    options: list[CompletionOption] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


def describe_completion(add: Add) -> None:
    add("shell", choices=("bash", "zsh", "fish"))


def run_completion(arguments: argparse.Namespace) -> None:
    """Print a script for bash, zsh or fish."""
    commands, shell = _commands(arguments.parser()), arguments.shell
    print(_fish(commands) if shell == "fish" else _bash(commands, zsh=shell == "zsh"))


def _commands(parser: argparse.ArgumentParser) -> dict[str, Completed]:
    subparsers: dict[str, argparse.ArgumentParser] = {}
    helps: dict[str, str] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            subparsers |= action.choices
            helps |= {choice.dest: choice.help or "" for choice in action._choices_actions}
    words = _words()
    out = {name: _command(command, helps.get(name, ""), words) for name, command in subparsers.items()}
    for name in [name for name in out if " " in name]:  # a word of the first, with options of its own
        first, second = name.split()
        more = out.pop(name).options
        out[first].words.append(second)
        out[first].options += [
            option for option in more if option.flags not in [had.flags for had in out[first].options]
        ]
    return out


def _words() -> dict[str, list[str]]:
    rows = declared().values()
    parameters = [name for row in rows for name in row.defaults]
    return {
        "metrics": sorted(declared()),
        "conventions": list(conventions),
        "fusing": [f"{name}=" for name in FusionChoices.__annotations__],
        "choices": [f"{name}=" for name in dict.fromkeys([*CHOICES, *sorted(parameters)])],
    }


def _command(parser: argparse.ArgumentParser, summary: str, words: Mapping[str, list[str]]) -> Completed:
    row = parser.get_default("row")
    if row.describe is None:
        return Completed(summary, _trec_eval())
    completed = Completed(summary, words=list(words.get(row.words, ())))
    for action in parser._actions:
        values = [str(choice) for choice in action.choices or ()]
        if not action.option_strings:
            completed.words += values
            continue
        kind = next((_OF_OPTIONS[flag] for flag in action.option_strings if flag in _OF_OPTIONS), "")
        offered = list(words.get(row.choices if kind == "choices" else kind, ()))
        follows = None if action.nargs == 0 else values or offered
        completed.options.append(
            CompletionOption(tuple(action.option_strings), follows, (action.help or "").replace("%%", "%"))
        )
    return completed


def _trec_eval() -> list[CompletionOption]:
    words = {"-m": [*NICKNAMES, *MEASURES], "-R": list(FORMATS)}
    return [
        CompletionOption(row.flags, words.get(row.flags[0], []) if row.value else None, row.help) for row in OPTIONS
    ]


def _bash(commands: Mapping[str, Completed], *, zsh: bool) -> str:
    cases = []
    for name, command in commands.items():
        flags = [flag for option in command.options for flag in option.flags]
        after = "".join(
            f'          {"|".join(option.flags)}) words="{" ".join(option.follows)}"; after=yes ;;\n'
            for option in command.options
            if option.follows is not None
        )
        inside = f'        case "$previous" in\n{after}        esac\n' if after else ""
        cases.append(
            f'      {name})\n{inside}        [ -n "$after" ] || words="{" ".join([*flags, *command.words])}" ;;\n'
        )
    start = """# In zsh, put this into ~/.zshrc: source <(rankstone completion zsh)
(( $+functions[compdef] )) || { autoload -U compinit && compinit; }
autoload -U +X bashcompinit && bashcompinit
"""
    return (
        (start if zsh else "")
        + f"""_rankstone() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words="" after=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{" ".join(commands)} --help --version"
  else
    case "${{COMP_WORDS[1]}}" in
{"".join(cases)}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  case "${{COMPREPLY[0]}}" in *=) compopt -o nospace 2>/dev/null ;; esac
}}
complete -o default -F _rankstone rankstone"""
    )


def _fish(commands: Mapping[str, Completed]) -> str:
    lines = []
    for name, command in commands.items():
        lines.append(f"complete -c rankstone -n __fish_use_subcommand -a {name} -d '{_quoted(command.help)}'")
        inside = f"-n '__fish_seen_subcommand_from {name}'"
        if command.words:
            lines.append(f"complete -c rankstone {inside} -a '{' '.join(command.words)}'")
        for option in command.options:
            flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
            value = "" if option.follows is None else " -r"
            words = f" -f -a '{' '.join(option.follows)}'" if option.follows else ""
            lines.append(f"complete -c rankstone {inside} {flags}{value}{words} -d '{_quoted(option.help)}'")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
