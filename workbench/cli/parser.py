"""Argument parsing whose errors are the project's own, and the arguments that several commands share."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

from workbench.errors import NOTHING, InputError, Words

_REQUIRED = re.compile(r"the following arguments are required: (.+)", re.DOTALL)
_UNKNOWN = re.compile(r"unrecognized arguments: (.+)", re.DOTALL)
_CHOICE = re.compile(r"argument (\S+): invalid choice: (.+) \(choose from (.+)\)", re.DOTALL)
_ARGUMENT = re.compile(r"argument ([^:]+): (.+)", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """An argument parser that raises InputError instead of ending the program. Options cannot be abbreviated."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **options})  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        """Raise what argparse found as an InputError."""
        hint = f"(`{self.prog} --help`)"
        if found := _REQUIRED.fullmatch(message):
            raise InputError(self.prog, NOTHING, f"{found[1]} {hint}")
        if found := _UNKNOWN.fullmatch(message):
            raise InputError(self.prog, found[1], f"arguments that the command has {hint}")
        if found := _CHOICE.fullmatch(message):
            names = found[3].replace("'", "")
            raise InputError(f"{self.prog} {found[1]}", found[2].strip("'"), f"one of {names}")
        if found := _ARGUMENT.fullmatch(message):
            raise InputError(f"{self.prog} {found[1]}", *_missing(found[2], hint))
        raise InputError(self.prog, Words(message), f"arguments as the command takes them {hint}")


def _missing(message: str, hint: str) -> tuple[str, str]:
    """Value and expected of an argument's own message: mostly that its value is missing."""
    return (NOTHING, f"a value {hint}") if message.startswith("expected") else (Words(message), f"a value {hint}")


Commands = argparse._SubParsersAction
"""What `add_subparsers` returns; argparse has no public name for it."""


def add_command(commands: Commands[Parser], name: str, help: str, description: str = "") -> Parser:
    """A command with the options that every command has."""
    parser = commands.add_parser(name, help=help, description=description or help)
    parser.add_argument("--json", action="store_true", help="print one JSON value on stdout and nothing else")
    return parser


def add_scenario(parser: Parser) -> None:
    """The scenario that a command reads."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a file, - for standard input, or preset:NAME")


def add_output(parser: Parser, *, required: bool) -> None:
    """Where a command writes a scenario."""
    help = "the scenario file to write (- for standard output)"
    parser.add_argument("-o", "--output", metavar="FILE", required=required, help=help)
    add_force(parser)


def add_force(parser: Parser) -> None:
    """The option that allows overwriting."""
    parser.add_argument("--force", action="store_true", help="overwrite what is there")


def add_set(parser: Parser, form: str) -> None:
    """Knobs."""
    help = "a knob's value, any number of times (`workbench list NAME` shows the knobs)"
    parser.add_argument("--set", metavar=form, action="append", default=[], dest="settings", help=help)
