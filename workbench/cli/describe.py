"""Commands that describe: list, presets, validate, schema."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.base.errors import InputError, Words
from workbench.cli.arguments import Commands, Parser, add_command, add_output, add_scenario
from workbench.cli.inputs import called, check_targets, read_scenario
from workbench.cli.make import written
from workbench.cli.output import Answer, aligned, say, short

if TYPE_CHECKING:
    from workbench.scenario.scenario import Scenario
    from workbench.scheduling.knob import Knob


def add_commands(commands: Commands[Parser]) -> None:
    """Declare the commands of this file."""
    parser = add_command(commands, "list", "schedulers and formulations, or the knobs of one")
    parser.add_argument("name", metavar="NAME", nargs="?", help="only this one, and its knobs in full")
    parser.set_defaults(command=list_all)

    parser = add_command(commands, "presets", "the built-in scenarios", "List the built-in scenarios, or print one.")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the scenario to print, or to write with -o")
    add_output(parser, required=False)
    parser.set_defaults(command=presets)

    parser = add_command(commands, "validate", "check a scenario")
    add_scenario(parser)
    parser.set_defaults(command=validate)

    parser = add_command(commands, "schema", "the JSON Schema of a scenario file")
    parser.set_defaults(command=schema)


def list_all(args: argparse.Namespace) -> Answer:
    """Everything the registry knows."""
    from workbench.session.registry import skipped_rooms

    found = [entry for entry in _entries() if args.name in (None, entry["name"])]
    for name, reason in skipped_rooms().items():
        say(f"left out: room {name}: {reason}")
    if not found:
        raise InputError("name", args.name, "one of " + ", ".join(dict.fromkeys(e["name"] for e in _entries())))
    return Answer(found, lambda: _overview(found) if args.name is None else "\n\n".join(map(_in_full, found)))


def _entries() -> Iterator[dict[str, Any]]:
    """One entry per formulation and per scheduler, room by room."""
    from workbench.session.registry import paper_rooms, rooms

    papers = {room.name for room in paper_rooms()}
    for room in rooms():
        for kind, offered in (("formulation", room.formulations), ("scheduler", room.schedulers)):
            for found in offered:
                uses = getattr(found, "uses", None)
                yield {
                    "name": found.name,
                    "kind": kind,
                    "title": found.title,
                    "paper": room.name if room.name in papers else None,
                    "offline": found.offline,
                    "uses": None if uses is None else sorted(uses),
                    "knobs": [_knob(knob) for knob in found.knobs],
                }


def _knob(knob: Knob) -> dict[str, Any]:
    keys = ("name", "default", "kind", "optional", "unit", "choices", "minimum", "maximum", "help", "source")
    return {key: getattr(knob, key) for key in keys}


def _overview(found: list[dict[str, Any]]) -> str:
    rows = [[e["name"], e["kind"], e["paper"] or "", e["title"]] for e in found]
    return (
        aligned(["name", "kind", "paper", "title"], rows, left=4) + "\n\n`workbench list NAME` shows the knobs of one."
    )


def _in_full(entry: dict[str, Any]) -> str:
    lines = [f"{entry['name']} ({entry['kind']}): {entry['title']}"]
    if entry["uses"] is not None:
        lines.append(f"reads of a job: {', '.join(entry['uses'])}")
    rows = [[k["name"], _default(k), _range(k), k["unit"], k["source"]] for k in entry["knobs"]]
    if not rows:
        return "\n".join([*lines, "no knobs"])
    head, *table = aligned(["knob", "default", "values", "unit", "source"], rows, left=5).splitlines()
    lines += ["", head]
    for line, knob in zip(table, entry["knobs"], strict=True):
        lines += [line, f"    {knob['help']}"]
    return "\n".join(lines)


def _default(knob: dict[str, Any]) -> str:
    value = knob["default"]
    return {True: "true", False: "false", None: "none"}[value] if isinstance(value, bool | None) else short(value)


def _range(knob: dict[str, Any]) -> str:
    none = " or none" if knob["optional"] else ""
    if knob["choices"] is not None:
        return "|".join(map(str, knob["choices"])) + none
    if knob["kind"] in ("bool", "str"):
        return {"bool": "true|false", "str": "text"}[knob["kind"]] + none
    low, high = short(float(knob["minimum"])), short(float(knob["maximum"]))
    return f"{low} .. {high}{none}".replace("-inf ..", "..").replace(".. inf", "..")


def presets(args: argparse.Namespace) -> Answer:
    """The built-in scenarios, or one of them as a file."""
    from workbench.scenario.presets import preset, variants
    from workbench.scenario.presets import presets as all_presets

    if args.name is None:
        if args.output is not None:
            raise InputError("workbench presets", Words("no NAME"), "the preset to write to " + args.output)
        known = all_presets()
        data = {
            "presets": [
                {"name": name, "description": description, "variants": variants(name)} for name, description in known
            ]
        }
        return Answer(data, lambda: aligned(["name", "description"], [list(row) for row in known], left=2))
    check_targets({"-o": args.output}, force=args.force)
    scenario = preset(args.name)
    if args.output is None:
        return Answer(scenario.to_dict(), scenario.to_json)
    return written(scenario, args.output, force=args.force)


def validate(args: argparse.Namespace) -> Answer:
    """Whether a scenario is well formed, every job can run somewhere, and its schedulers are there."""
    from workbench.session.api import with_usable_schedulers

    scenario = read_scenario(args.scenario)
    scenario.require_runnable(called(args.scenario))
    for note in with_usable_schedulers(scenario, called(args.scenario)).notes[: -len(scenario.notes) or None]:
        say(f"note: {note}")
    facts = _facts(scenario)
    rows = [["GPUs", ", ".join(f"{gpus} {name}" for name, gpus in facts["gpus"].items())]]
    rows += [["nodes", str(facts["nodes"])], ["jobs", str(facts["jobs"])], ["models", str(facts["models"])]]

    def text() -> str:
        from workbench.base.units import format_duration

        for which in ("first", "last") if scenario.jobs else ():
            rows.append([f"{which} arrival", format_duration(facts[f"{which}_arrival_s"], parts=2)])
        return aligned([facts["name"] or Path(args.scenario).name, "valid"], rows, left=2)

    return Answer({"status": "valid", **facts}, text)


def _facts(scenario: Scenario) -> dict[str, Any]:
    return {
        "name": scenario.name,
        "key": scenario.key(),
        "gpus": scenario.cluster.capacity,
        "nodes": len(scenario.cluster.each_node),
        "jobs": len(scenario.jobs),
        "models": len({job.model for job in scenario.jobs}),
        "first_arrival_s": min((job.arrival_s for job in scenario.jobs), default=None),
        "last_arrival_s": max((job.arrival_s for job in scenario.jobs), default=None),
    }


def schema(args: argparse.Namespace) -> Answer:
    """The JSON Schema of a scenario file."""
    from workbench.scenario.scenario import json_schema

    found = json_schema()
    return Answer(found, lambda: json.dumps(found, indent=1))
