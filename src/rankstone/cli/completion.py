"""Shell completion, made from the command's own arguments."""

from __future__ import annotations

import argparse

_OF_METRICS = ("define", "explain", "identify")  # commands whose words may be metrics
# What follows these options, wherever they stand.
_VALUES = {"--metric": "metrics", "-m": "metrics", "--convention": "conventions", "-c": "conventions"}


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """A script for bash, zsh or fish."""
    commands = _commands(parser)
    return _fish(parser, commands) if shell == "fish" else _bash(parser, commands, zsh=shell == "zsh")


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _words() -> dict[str, str]:
    from rankstone.conventions.convention import conventions
    from rankstone.metrics.registry import declared

    return {"metrics": " ".join(sorted(declared())), "conventions": " ".join(conventions)}


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.option_strings]


def _bash(parser: argparse.ArgumentParser, commands: dict[str, argparse.ArgumentParser], *, zsh: bool) -> str:
    words = _words()
    values = "".join(f'    {option}) words="{words[what]}" ;;\n' for option, what in _VALUES.items())
    choices = {
        f'    {option}) words="{" ".join(map(str, action.choices))}" ;;\n'
        for command in commands.values()
        for action in _options(command)
        if action.choices
        for option in action.option_strings
    }
    cases = []
    for name, command in commands.items():
        options = [option for action in _options(command) for option in action.option_strings]
        positional = [
            str(word) for action in command._actions if not action.option_strings for word in action.choices or ()
        ]
        if name in words:
            positional.append(words[name])
        if name in _OF_METRICS:
            positional.append(words["metrics"])
        cases.append(f'      {name}) words="{" ".join([*options, *positional])}" ;;\n')
    return (
        ("autoload -U +X bashcompinit && bashcompinit\n" if zsh else "")
        + f"""_rankstone() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  case "$previous" in
{values}{"".join(sorted(choices))}  esac
  if [ -z "$words" ]; then
    if [ "$COMP_CWORD" -eq 1 ]; then
      words="{" ".join(commands)} --help --version"
    else
      case "${{COMP_WORDS[1]}}" in
{"".join(cases)}      esac
    fi
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _rankstone rankstone"""
    )


def _fish(parser: argparse.ArgumentParser, commands: dict[str, argparse.ArgumentParser]) -> str:
    words = _words()
    lines = []
    helps = {action.dest: action.help for own in parser._actions for action in getattr(own, "_choices_actions", [])}
    for name, command in commands.items():
        lines.append(f"complete -c rankstone -n __fish_use_subcommand -a {name} -d '{_quoted(helps.get(name))}'")
        inside = f"-n '__fish_seen_subcommand_from {name}'"
        if name in words or name in _OF_METRICS:
            lines.append(f"complete -c rankstone {inside} -a '{words.get(name, words['metrics'])}'")
        for action in _options(command):
            flags = " ".join(
                f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
                for option in action.option_strings
            )
            what = next((_VALUES[option] for option in action.option_strings if option in _VALUES), None)
            found = words[what] if what else " ".join(map(str, action.choices or ()))
            follows = f" -x -a '{found}'" if found else ""
            lines.append(f"complete -c rankstone {inside} {flags}{follows} -d '{_quoted(action.help)}'")
    return "\n".join(lines)


def _quoted(text: str | None) -> str:
    return (text or "").replace("\\", "\\\\").replace("'", "\\'")
