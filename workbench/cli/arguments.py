"""Argument parsing whose errors are the project's own, and the arguments that several commands share."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn

from workbench.base.errors import NOTHING, InputError, Words

_REQUIRED = re.compile(r"the following arguments are required: (.+)", re.DOTALL)
_CHOICE = re.compile(r"argument (\S+): invalid choice: (.+) \(choose from (.+)\)", re.DOTALL)
_ARGUMENT = re.compile(r"argument ([^:]+): (.+)", re.DOTALL)
_KNOB = re.compile(r"knob (\S+)|knobs of .+")
"""Where an error of a knob is: its name, or whose knobs have none of that name (which is then the error's value)."""
_NAME = re.compile(r"([a-z_]+?)(?:_s)?(?=$|[,: ])(.*)", re.DOTALL)
"""Where an error is: a function's argument, without its unit of seconds, and what follows it."""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises InputError instead of ending the program. Options cannot be abbreviated."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **options})  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        """Raise what argparse found as an InputError."""
        hint = f"(`{self.prog} --help`)"
        if found := _REQUIRED.fullmatch(message):
            raise InputError(self.prog, NOTHING, f"{found[1]} {hint}")
        if found := _CHOICE.fullmatch(message):
            names = found[3].replace("'", "")
            raise InputError(f"{self.prog} {found[1]}", found[2].strip("'"), f"one of {names}")
        if found := _ARGUMENT.fullmatch(message):
            raise InputError(f"{self.prog} {found[1]}", *_missing(found[2], hint))
        raise InputError(self.prog, Words(message), f"arguments as the command takes them {hint}")

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Raise an InputError for what was typed and the command does not know."""
        raise InputError(self.prog, " ".join(unknown), f"arguments that the command has (`{self.prog} --help`)")

    def naming_options(self, error: InputError, args: argparse.Namespace) -> InputError:
        """The error, with the option for the function's argument that it was handed to: `--from-s` for `from_s`.

        Of a knob, the option with the text that sets it, `--set round_s=soon`. A user's file that bears the name of an
        argument keeps it.
        """
        knob = _KNOB.fullmatch(error.where)
        if knob is not None:
            typed = _typed(knob[1] or str(error.value), error.value, args)
            return error if typed is None else InputError(f"{typed}: {error.where}", error.value, error.expected)
        found = _NAME.fullmatch(error.where)
        if type(error) is not InputError or found is None:
            return error
        name, rest = found.groups()
        options = {action.dest.removesuffix("_s"): _called(action) for action in self._actions}
        option = next(iter(options.get(name) or options.get(f"{name}s") or ()), None)
        if option is None or any(str(value) in (name, f"{name}_s") for value in vars(args).values()):
            return error
        return InputError(f"{option}{rest}", NOTHING if error.value is None else error.value, error.expected)


def _called(action: argparse.Action) -> list[str]:
    """An option by its names, an argument without any by what `--help` calls it."""
    return list(action.option_strings) or [str(action.metavar)]


def _typed(knob: str, value: object, args: argparse.Namespace) -> str | None:
    """The option and its text that set a knob to a value; without the text where several do; None if none does."""
    belief = getattr(args, "belief", None) or ""
    given = [("--set", text) for text in getattr(args, "settings", ())]
    given += [("--vary", text) for text in getattr(args, "vary", ())]
    found = [(option, text) for option, text in given if text.partition("=")[0].rpartition(":")[2].strip() == knob]
    if any(part.partition("=")[0].strip() == knob for part in belief.partition(":")[2].split(",")):
        found.append(("--belief", belief))
    exact = [(option, text) for option, text in found if text.partition("=")[2].strip() == str(value)]
    chosen = exact or found
    if len(chosen) == 1:
        return " ".join(chosen[0])
    return chosen[0][0] if chosen else None


def _missing(message: str, hint: str) -> tuple[str, str]:
    """Value and expected of an argument's own message: mostly that its value is missing."""
    return (NOTHING, f"a value {hint}") if message.startswith("expected") else (Words(message), f"a value {hint}")


Commands = argparse._SubParsersAction
"""What `add_subparsers` returns; argparse has no public name for it."""


def add_command(commands: Commands[Parser], name: str, help: str, description: str = "") -> Parser:
    """A command with the options that every command has."""
    parser = commands.add_parser(name, help=help, description=description or help)
    parser.set_defaults(parser=parser)
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


A_SCHEDULER = "see `workbench list`, or FILE.py:NAME, one that a file of yours declares"
ITS_OWN = "what its paper says it knows"
FOR_ALL = "the same for all; paper: each what its own paper says"


def add_belief(parser: Parser, default: str, several: bool = False) -> None:
    """What tells schedulers speeds, one or a list of `several`; default: in words."""
    known = "oracle (true, by GPU type), nodes (true, by node), noisy, low_rank, scaled, pmi, layered"
    help = f"what schedulers know of speeds: {known}; with knobs low_rank:profiled=0.5; default: {default}"
    more = "; given again, each scheduler runs with each" if several else ""
    parser.add_argument("--belief", metavar="NAME", action="append" if several else "store", help=help + more)
