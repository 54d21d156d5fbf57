"""`workrail-lint completion`: a script that completes commands, options, choices and file names in your shell.

The script is generated from the parsers of the commands, so it always matches this version.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

from workrail_lint.base.terminal import out
from workrail_lint.cli import OK, PROGRAM, Program
from workrail_lint.cli.parser import Parser, Suggesting

# The metavar says which kind of path an argument is.
_FILES, _FOLDERS = ("FILE", "PATH", "WORKFLOW"), ("DIR",)


class Argument(NamedTuple):
    """An option with its names, or the positional arguments of a command, which have none; and their values."""

    names: tuple[str, ...]
    help: str
    metavar: str  # "" for a switch
    choices: tuple[str, ...]

    @property
    def takes_files(self) -> bool:
        return self.metavar in _FILES

    @property
    def takes_folders(self) -> bool:
        return self.metavar in _FOLDERS


class Command(NamedTuple):
    """A command, or one of its actions; then the name is both, separated by a space."""

    name: str
    help: str
    options: tuple[Argument, ...]
    positional: Argument | None
    actions: tuple[Command, ...]


def main(arguments: list[str]) -> int:
    return write(parser().parse_args(arguments).shell, PROGRAM)


def parser(program: Program = PROGRAM) -> Parser:
    usage = f"Print a completion script. In bash: source <({program.name} completion bash)"
    result = Parser("completion", usage, program.name)
    result.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")
    return result


def write(shell: str, program: Program) -> int:
    """Print the script of a program."""
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    out("\n".join(script(program.name, commands(program))))
    return OK


def commands(program: Program = PROGRAM) -> tuple[Command, ...]:
    """Return all commands of a program with their options and arguments."""
    named = program.commands.items()
    return tuple(_command(name, summary, parser_of(program.package, name)) for name, summary in named)


def parser_of(package: str, name: str) -> Parser | None:
    """Return the parser of a command, or None if it has no arguments."""
    factory = getattr(import_module(f"{package}.{name}"), "parser", None)
    return None if factory is None else factory()


def _command(name: str, summary: str, parser: Parser | None) -> Command:
    if parser is None:
        return Command(name, summary, (), None, ())
    options = [_argument(each) for each in parser.arguments if each.option_strings]
    positional = next((_argument(each) for each in parser.arguments if not each.option_strings), None)
    actions = [_command(f"{name} {action}", text, inner) for action, (text, inner) in parser.actions.items()]
    return Command(name, summary, tuple(options), positional, tuple(actions))


def _argument(action: argparse.Action) -> Argument:
    suggested = action.suggested if isinstance(action, Suggesting) else ()
    choices = tuple(map(str, action.choices or suggested))
    metavar = "" if action.nargs == 0 else str(action.metavar or action.dest.upper())
    return Argument(tuple(action.option_strings), (action.help or "").replace("%%", "%"), metavar, choices)


def _all(known: tuple[Command, ...]) -> Iterator[Command]:
    for command in known:
        yield from command.actions or (command,)


# -------------------------------------------------------------------------------------------------------- bash

_BASH_HEAD = r"""# bash completion of PROGRAM; use it with: source <(PROGRAM completion bash)
FUNCTION() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
    local words= kind= IFS=$' \t\n'
    COMPREPLY=()
    # --option=value comes in three words
    if [[ $cur == "=" ]]; then cur=; elif [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi"""
_BASH_TAIL = r"""    if [[ -n $words ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    elif [[ -n $kind ]]; then
        IFS=$'\n'
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen "$kind" -- "$cur"))
    fi
}
complete -F FUNCTION PROGRAM"""


def _function(program: str) -> str:
    """Return the name of the function that completes a program."""
    return f"_{program.replace('-', '_')}"


def _bash(program: str, known: tuple[Command, ...]) -> Iterator[str]:
    yield _BASH_HEAD.replace("PROGRAM", program).replace("FUNCTION", _function(program))
    yield "    if ((COMP_CWORD == 1)); then"
    names = " ".join(command.name for command in known)
    yield f'        COMPREPLY=($(compgen -W "{names} --help --version" -- "$cur"))'
    yield "        return"
    yield "    fi"
    for command in known:
        if command.actions:
            names = " ".join(action.name.rpartition(" ")[2] for action in command.actions)
            yield f"    if [[ $command == {command.name} ]]; then"
            yield "        if ((COMP_CWORD == 2)); then"
            yield f'            COMPREPLY=($(compgen -W "{names} --help" -- "$cur"))'
            yield "            return"
            yield "        fi"
            yield '        command="$command ${COMP_WORDS[2]}"'
            yield "    fi"
    yield '    case "$command $prev" in'
    for command in _all(known):
        for option in command.options:
            if option.metavar:
                patterns = "|".join(f'"{command.name} {name}"' for name in option.names)
                yield f"        {patterns}) {_bash_values(option)}; kind=${{kind:-none}} ;;"
    yield "    esac"
    yield '    if [[ -z $words && -z $kind && $cur == -* ]]; then case "$command" in'
    for command in _all(known):
        names = " ".join(name for option in command.options for name in option.names)
        yield f'        "{command.name}") words="{names}" ;;'
    yield "    esac"
    yield '    elif [[ -z $words && -z $kind ]]; then case "$command" in'
    for command in _all(known):
        if command.positional is not None:
            yield f'        "{command.name}") {_bash_values(command.positional)} ;;'
    yield "    esac; fi"
    yield "    if [[ $kind == none ]]; then kind=; fi"
    yield _BASH_TAIL.replace("PROGRAM", program).replace("FUNCTION", _function(program))


def _bash_values(argument: Argument) -> str:
    if argument.choices:
        return f'words="{" ".join(argument.choices)}"'
    return "kind=-f" if argument.takes_files else "kind=-d" if argument.takes_folders else ":"


# --------------------------------------------------------------------------------------------------------- zsh


def _zsh(program: str, known: tuple[Command, ...]) -> Iterator[str]:
    function = _function(program)
    yield f"#compdef {program}"
    yield f"# zsh completion of {program}; use it with: source <({program} completion zsh)"
    yield f"{function}() {{"
    yield "    local -a names"
    yield "    if (( CURRENT == 2 )); then"
    yield f"        names=({' '.join(_zsh_name(command.name, command.help) for command in known)})"
    yield "        _describe command names"
    yield "        return"
    yield "    fi"
    yield "    shift words; (( CURRENT-- ))"
    yield "    case $words[1] in"
    for command in known:
        yield f"        {command.name})"
        if command.actions:
            named = " ".join(_zsh_name(action.name.rpartition(" ")[2], action.help) for action in command.actions)
            yield f"            if (( CURRENT == 2 )); then names=({named}); _describe action names; return; fi"
            yield "            shift words; (( CURRENT-- ))"
            yield "            case $words[1] in"
            for action in command.actions:
                yield f"                {action.name.rpartition(' ')[2]}) _arguments {_zsh_arguments(action)} ;;"
            yield "            esac ;;"
        else:
            yield f"            _arguments {_zsh_arguments(command)} ;;"
    yield "    esac"
    yield "}"
    # The file is either loaded for the function of its name, or sourced.
    yield f'if [ "$funcstack[1]" = {function} ]; then {function} "$@"'
    yield f"else compdef {function} {program}; fi"


def _zsh_name(name: str, text: str) -> str:
    return _quoted(f"{name}:{text}")


def _zsh_arguments(command: Command) -> str:
    specs = [
        f"{name}[{_zsh_escaped(option.help)}]{_zsh_values(option) if option.metavar else ''}"
        for option in command.options
        for name in option.names
    ]
    if command.positional is not None:
        specs.append(f"*{_zsh_values(command.positional)}")
    return " ".join(map(_quoted, specs))


def _zsh_values(argument: Argument) -> str:
    values = f"({' '.join(argument.choices)})" if argument.choices else " "
    if not argument.choices and (argument.takes_files or argument.takes_folders):
        values = "_files -/" if argument.takes_folders else "_files"
    return f":{_zsh_escaped(argument.metavar)}:{values}"


def _zsh_escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in "[]:\\" else char for char in text)


# -------------------------------------------------------------------------------------------------------- fish


def _fish(program: str, known: tuple[Command, ...]) -> Iterator[str]:
    yield f"# fish completion of {program}; use it with: {program} completion fish | source"
    yield f"complete -c {program} -f"
    for command in known:
        yield f"complete -c {program} -n __fish_use_subcommand -a {command.name} -d {_quoted(command.help)}"
        seen = f"__fish_seen_subcommand_from {command.name}"
        names = " ".join(action.name.rpartition(" ")[2] for action in command.actions)
        for action in command.actions:
            name = action.name.rpartition(" ")[2]
            first = _quoted(f"{seen}; and not __fish_seen_subcommand_from {names}")
            yield f"complete -c {program} -n {first} -a {name} -d {_quoted(action.help)}"
            yield from _fish_arguments(program, action, f"{seen}; and __fish_seen_subcommand_from {name}")
        if not command.actions:
            yield from _fish_arguments(program, command, seen)


def _fish_arguments(program: str, command: Command, condition: str) -> Iterator[str]:
    start = f"complete -c {program} -n {_quoted(condition)}"
    for option in command.options:
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
        yield f"{start} {names} {_fish_values(option)}-d {_quoted(option.help)}"
    if command.positional is not None and (values := _fish_values(command.positional)) != "-x ":
        yield f"{start} {values.replace('-r ', '').replace('-x ', '')}".rstrip()


def _fish_values(argument: Argument) -> str:
    if not argument.metavar:
        return ""
    if argument.choices:
        return f"-x -a {_quoted(' '.join(argument.choices))} "
    if argument.takes_folders:
        return "-x -a '(__fish_complete_directories)' "
    return "-r -F " if argument.takes_files else "-x "


def _quoted(text: str) -> str:
    """Return one word of a shell. In single quotes, only the quote itself is special."""
    return "'" + text.replace("'", "'\\''") + "'"
