"""The command that solves a formulation once."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, get_args

from workbench.base.errors import counted
from workbench.base.rounding import short_number
from workbench.cli.arguments import A_SCHEDULER, Commands, Parser, add_command, add_scenario, add_set
from workbench.cli.inputs import a_scheduler, choice, number, read_scenario, seconds, settings
from workbench.cli.output import Answer, aligned, plain, say, short

if TYPE_CHECKING:
    from workbench.scenario.scenario import Scenario
    from workbench.scheduling.contract import Result

MOST_ROWS, LINE = 40, 100
"""Jobs that a table for people shows, and characters of a line that is not a table's; `--json` has them all."""


def add_commands(commands: Commands[Parser]) -> None:
    """Declare the command of this file."""
    parser = add_command(commands, "solve", "solve a formulation once, for the jobs that are there at one time")
    add_scenario(parser)
    parser.add_argument("--formulation", metavar="NAME", type=a_scheduler, required=True, help=A_SCHEDULER)
    help = "the time, in seconds or as `2 h`; default: the last arrival, for an offline formulation 0"
    parser.add_argument("--at", metavar="S", type=seconds("--at"), help=help)
    add_set(parser, "KNOB=VALUE")
    parser.add_argument("--solver", metavar="NAME", help="highs (default) or glpk")
    parser.add_argument("--time-limit", metavar="S", type=seconds("--time-limit"), help="stop after so much wall time")
    parser.add_argument("--gap", metavar="G", type=number("--gap"), help="stop at this relative gap")
    parser.set_defaults(command=solve)


def solve(args: argparse.Namespace) -> Answer:
    """One solve."""
    from workbench.scheduling.solvers import DEFAULT, SolverName
    from workbench.session.api import later_arrivals, time_of_solve
    from workbench.session.api import solve as solve_once
    from workbench.session.registry import find_formulation

    formulation = find_formulation(args.formulation)
    solver = DEFAULT if args.solver is None else choice("--solver", *get_args(SolverName))(args.solver)
    knobs = settings(args.settings)
    settled = formulation.settle(knobs)
    scenario = read_scenario(args.scenario)
    at_s = time_of_solve(scenario, args.formulation, args.at)
    result = solve_once(
        scenario,
        args.formulation,
        knobs,
        at=at_s,
        solver=solver,
        time_limit_s=args.time_limit,
        gap=args.gap,
    )
    left_out = 0 if formulation.offline else later_arrivals(scenario, at_s)
    if left_out:
        say(f"left out, as arriving after {at_s:g} s: {counted(left_out, 'job')}")
    say_lacking(scenario, [(args.formulation, settled)])
    for text in result.warnings:
        say(f"warning: {text}")
    jobs = [job.name for job in scenario.jobs]
    values, empty = _without_empty_pairs(result.values, jobs)
    known = {field.name: getattr(result, field.name) for field in fields(result)}
    keys = ("status", "objective", "sense", "unit", "bound", "gap", "solver", "build_s", "solve_s", "iterations")
    data = {"formulation": args.formulation, **{key: known[key] for key in keys}, "result": values}
    shown = replace(result, values=values)
    return Answer(data, lambda: _solved(args.formulation, shown, formulation.reading, jobs, empty))


def say_lacking(scenario: Scenario, chosen: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """What schedulers or formulations, with their knobs, are about and the scenario has none of; each once."""
    from workbench.session.read_and_ignored import lacking

    for text in dict.fromkeys(f"{name}: {text}" for name, knobs in chosen for text in lacking(scenario, name, knobs)):
        say(f"note: {text}")


def _without_empty_pairs(values: Mapping[str, Any], jobs: Iterable[str]) -> tuple[dict[str, Any], int]:
    """The values without the pairs that have no share, and how many those are: most pairs have none."""
    allocation, alone = values.get("allocation", {}), set(jobs)
    empty = {unit for unit, shares in allocation.items() if unit not in alone and not any(shares.values())}
    kept = {unit: shares for unit, shares in allocation.items() if unit not in empty}
    return {**values, "allocation": kept} if empty else dict(values), len(empty)


def _solved(name: str, result: Result, reading: str, jobs: Iterable[str], empty: int) -> str:
    unit = "" if result.unit in ("", "1") else f" {result.unit}"
    facts = [f"{name}: {result.status}", f"objective {short(result.objective)}{unit} ({result.sense})"]
    if result.gap:
        facts.append(f"gap {short_number(100 * result.gap)} %")
    seconds = f"built in {result.build_s:.3f} s, solved in {result.solve_s:.3f} s"
    lines = [", ".join([*facts, result.solver, seconds]), *_values(result.values, jobs, empty)]
    return "\n".join([*lines, "", textwrap.fill(reading, 100)] if reading else lines)


def _values(values: Mapping[str, Any], jobs: Iterable[str], empty: int) -> list[str]:
    """What a result holds per job as one table, below it the rest (`_listed`).

    Where jobs may share, shares are a table of their own, with the jobs and pairs that have one; empty: pairs left out.
    """
    columns: dict[str, Mapping[str, Any]] = {}
    shares: dict[str, Mapping[str, Any]] = {}
    alone = set(jobs)
    rest: list[str] = []
    for name, value in values.items():
        if isinstance(value, Mapping) and value and all(isinstance(row, Mapping) for row in value.values()):
            apart = name == "allocation" and (empty > 0 or not alone.issuperset(value))
            for column in dict.fromkeys(key for row in value.values() for key in row):
                table = shares if apart else columns
                table[f"{name} {column}"] = {unit: row.get(column) for unit, row in value.items()}
        elif isinstance(value, Mapping) and not any(
            isinstance(item, (Mapping, list, tuple)) for item in value.values()
        ):
            columns[name] = value
        else:
            rest += _listed(name, value)
    if not shares:
        return [*_table(columns, "job"), *rest]
    having = [unit for unit in _rows(shares) if any(column.get(unit) for column in shares.values())]
    without = len(_rows(shares)) - len(having) + empty
    left_out = f"{counted(without, 'combination')} (a job alone, or two that share their GPUs) without a share"
    few = {name: {unit: column.get(unit) for unit in having} for name, column in shares.items()}
    return [*_table(few, "combination"), left_out, *_table(columns, "job"), *rest]


def _listed(name: str, value: Any) -> list[str]:
    """A value that is no column: things with equal properties as a table, else a line for each part."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(part, Mapping) for part in value):
        rows = [[short(cell) for cell in part.values()] for part in value[:MOST_ROWS]]
        lines = aligned(list(value[0]), rows).splitlines()
    elif isinstance(value, Mapping) and value:
        lines = [_cut(f"{key}: {_on_one_line(part)}") for key, part in list(value.items())[:MOST_ROWS]]
    else:
        return ["", _cut(f"{name}: {value if isinstance(value, str) else _on_one_line(value)}")]
    left = len(value) - MOST_ROWS
    more = [f"... and {left} more (--json prints all)"] if left > 0 else []
    return ["", f"{name}:", *(f"  {line}" for line in lines), *more]


def _cut(line: str) -> str:
    return line if len(line) <= LINE else f"{line[: LINE - 4]} ..."


def _on_one_line(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def _rows(columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row for column in columns.values() for row in column))


def _table(columns: Mapping[str, Mapping[str, Any]], noun: str) -> list[str]:
    """Columns side by side, at most `MOST_ROWS` of their rows."""
    names = _rows(columns)
    if not names:
        return ["", f"no {noun}s"]
    rows = [[str(name), *(short(column.get(name)) for column in columns.values())] for name in names[:MOST_ROWS]]
    left = len(names) - MOST_ROWS
    more = [f"... and {left} more {noun}s (--json prints all)"] if left > 0 else []
    return ["", aligned(["", *columns], rows), *more]
