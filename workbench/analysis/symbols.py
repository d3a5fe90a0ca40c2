"""One index of the symbols of all papers, by what they stand for, and a map of which paper handles what.

The papers name the same idea with different letters. Each paper's own symbols, meanings and units are read from its
Pyomo models (`workbench.scheduling.notation.symbols`); which of them stand for which idea is declared by its room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from workbench.scenario.presets import preset
from workbench.scheduling import notation
from workbench.scheduling.contract import Formulation
from workbench.scheduling.declared_room import Room
from workbench.session.api import snapshot_at, time_of_solve
from workbench.session.registry import paper_rooms

if TYPE_CHECKING:
    import pyomo.environ as pyo
    from pandas.io.formats.style import Styler


class Idea(NamedTuple):
    """What symbols of different papers have in common. symbols: by paper, each as `formulation symbol`."""

    name: str
    symbols: Mapping[str, tuple[str, ...]]


IDEAS = (
    "a job",
    "a task, a part of a job",
    "a type of GPU",
    "a single server or GPU",
    "a span of time",
    "a way to run a job",
    "jobs that share GPUs",
    "GPUs that there are",
    "GPUs that a job takes",
    "speed",
    "time of a task",
    "time to synchronise",
    "work that is left",
    "arrival",
    "deadline",
    "weight or priority",
    "what completing is worth",
    "price of a GPU",
    "what a job gains",
    "share of time (decided)",
    "whether a job gets it (decided)",
    "when it starts (decided)",
    "completion (follows)",
    "the worst-off job (follows)",
)
"""In reading order: who, where and when, what is given, what is decided, what follows."""


def ideas() -> tuple[Idea, ...]:
    """The ideas with the symbols that the papers' rooms declare for them, those that only a room has at the end."""
    letters = {room.name: room.letters() for room in papers()}
    names = dict.fromkeys((*IDEAS, *(idea for found in letters.values() for idea in found)))
    return tuple(Idea(name, {room: found[name] for room, found in letters.items() if name in found}) for name in names)


def symbol_index(tex: bool = False) -> pd.DataFrame:
    """A row for each idea, a column for each paper: the letters that stand for it there ("" where it has none).

    tex: as a notebook shows them, `$T_{mj}$`.
    """
    shown: Callable[[str], str] = notation.inline if tex else str
    rows = []
    for idea in ideas():
        letters = {room.name: dict.fromkeys(map(_letter, idea.symbols.get(room.name, ()))) for room in papers()}
        rows.append({"idea": idea.name, **{paper: ", ".join(map(shown, found)) for paper, found in letters.items()}})
    return pd.DataFrame(rows)


def symbol_table(tex: bool = False) -> pd.DataFrame:
    """All symbols of all papers: paper, formulation, symbol, meaning, unit, idea ("" if the index does not have it).

    A symbol that several formulations of a paper use with the same meaning has one row, with the one that the index
    names, or the first of them. tex: symbols and meanings as a notebook shows them.
    """
    named = {each: idea.name for idea in ideas() for found in idea.symbols.values() for each in found}
    rows = []
    for room in papers():
        for formulation in room.formulations:
            table = notation.symbols(_model(formulation, room.example))
            rows += [
                (room.name, formulation.name, symbol, meaning, unit, named.get(f"{formulation.name} {symbol}", ""))
                for symbol, meaning, unit in table[["symbol", "meaning", "unit"]].itertuples(index=False)
            ]
    found = pd.DataFrame(rows, columns=["paper", "formulation", "symbol", "meaning", "unit", "idea"])
    first = found.sort_values("idea", key=lambda idea: idea == "", kind="stable")
    found = found.loc[sorted(first.drop_duplicates(["paper", "symbol", "meaning"]).index)].reset_index(drop=True)
    if tex:
        found = found.assign(
            symbol=found["symbol"].map(notation.inline), meaning=found["meaning"].map(notation.with_tex)
        )
    return found


def shared_letters() -> pd.DataFrame:
    """Letters that stand for different ideas in different papers: letter, and for each paper the idea."""
    named = [
        (_letter(each).split("_")[0].split("^")[0], paper, idea.name)
        for idea in ideas()
        for paper, found in idea.symbols.items()
        for each in found
    ]
    table = pd.DataFrame(named, columns=["letter", "paper", "idea"]).drop_duplicates()
    several = table.groupby("letter")["idea"].transform("nunique") > 1
    wide = table[several & (table["letter"].str.len() == 1)].groupby(["letter", "paper"])["idea"].agg("; ".join)
    found = wide.unstack("paper", fill_value="").reindex(columns=[room.name for room in papers()], fill_value="")
    return found.reset_index().rename_axis(columns=None)


def model_symbols(model: pyo.ConcreteModel) -> Styler:
    """The symbols of one model as a notebook shows them; part is the name in the model, empty where there is none."""
    table = notation.symbols(model)[["symbol", "meaning", "unit", "kind", "part"]]
    return readable(
        table.assign(symbol=table["symbol"].map(notation.inline), meaning=table["meaning"].map(notation.with_tex))
    )


def readable(table: pd.DataFrame) -> Styler:
    """A table of words as a notebook shows it: flush left, without row numbers, TeX set."""
    shown = table.rename(columns=str.capitalize).style.hide(axis="index").format(escape="html")
    return shown.set_table_styles([{"selector": "th, td", "props": [("text-align", "left !important")]}])


def papers() -> tuple[Room, ...]:
    """The papers' rooms in the order of their notebooks, those without one at the end."""
    return tuple(sorted(paper_rooms(), key=lambda room: (room.notebook == "", room.notebook)))


def _letter(named: str) -> str:
    """The symbol of `formulation symbol`."""
    return named.partition(" ")[2]


def _model(formulation: Formulation[Any], example: str) -> pyo.ConcreteModel:
    """The model of its paper's example, at the instant at which that is solved."""
    scenario = preset(example)
    at_s = time_of_solve(scenario, formulation.name)
    knobs = formulation.settle({})
    snapshot = snapshot_at(scenario, at_s, offline=formulation.offline)
    return formulation.build(formulation.data(snapshot, knobs), knobs)


# ---- which paper handles what ----

Finds = Callable[[Room], bool]


def _uses(*properties: str) -> Finds:
    return lambda room: any(found in scheduler.uses for scheduler in room.schedulers for found in properties)


def _knob(*names: str) -> Finds:
    return lambda room: any(knob.name in names for scheduler in room.schedulers for knob in scheduler.knobs)


HANDLED: Mapping[str, Finds] = {
    "weights that jobs are given": _uses("weight"),
    "groups of jobs": _uses("entity"),
    "deadlines or rewards": _uses("rewards"),
    "the number of GPUs is chosen": _uses("gpu_choices"),
    "tasks in rounds": _uses("tasks_per_round"),
    "jobs that share a GPU": _knob("space_sharing"),
    "a gang over several types": _knob("mixed_types"),
    "forked copies": _knob("forks"),
    "where a gang lies": _knob("placement_sensitive", "round_up", "communication_cost", "speed_classes"),
    "time to switch jobs": _uses("models.model_gb", "models.load_s"),
    "profiling before running": _knob("profile", "profile_iterations", "profile_steps"),
    "speeds that are estimated": lambda room: bool(room.estimators),
    "a problem with all jobs known ahead": lambda room: any(found.offline for found in room.formulations),
}
"""What a paper may handle, and how the registry shows that it does."""


def paper_map() -> pd.DataFrame:
    """A row for each thing that a paper may handle, a column for each paper: whether it does, as implemented here."""
    found = papers()
    rows = [{"handles": what, **{room.name: finds(room) for room in found}} for what, finds in HANDLED.items()]
    return pd.DataFrame(rows)
