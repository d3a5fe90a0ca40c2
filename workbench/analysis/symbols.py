"""One index of the symbols of all papers, by what they stand for, and a map of which paper handles what.

The papers name the same idea with different letters. Each paper's own symbols, meanings and units are read from its
Pyomo models (`workbench.scheduling.notation.symbols`); only which of them stand for the same idea is written down here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from workbench.scenario.presets import preset
from workbench.scheduling import notation
from workbench.scheduling.contract import Formulation
from workbench.scheduling.estimators.registry import ESTIMATORS
from workbench.session.api import snapshot_at, time_of_solve
from workbench.session.registry import Room, rooms

if TYPE_CHECKING:
    import pyomo.environ as pyo
    from pandas.io.formats.style import Styler

PAPERS = ("gavel", "hadar", "hops", "hare", "chronus")
EXAMPLES: Mapping[str, str] = {
    "gavel": "gavel_example",
    "hadar": "hadar_example",
    "hops": "hops_64",
    "hare": "hare_example",
    "chronus": "chronus_example",
}
"""The built-in scenario on which a paper's models are built to read their symbols."""


class Idea(NamedTuple):
    """What symbols of different papers have in common. symbols: by paper, each as `formulation symbol`."""

    name: str
    symbols: Mapping[str, tuple[str, ...]]


def _idea(name: str, **symbols: str) -> Idea:
    """symbols: by paper, `formulation symbol`, several separated by semicolons, the paper left out of the name."""
    full = {paper: tuple(f"{paper}.{each.strip()}" for each in text.split(";")) for paper, text in symbols.items()}
    return Idea(name, full)


IDEAS = (
    _idea("a job", gavel="max_min_fairness m", hadar="offline j", hops="round i", hare="exact n", chronus="leases i"),
    _idea("a task, a part of a job", hare="exact i"),
    _idea("a type of GPU", gavel="max_min_fairness j", hadar="offline r", hare="interval_lp k"),
    _idea("a single server or GPU", hops="round t", hare="exact m"),
    _idea("a span of time", hadar="offline t", hare="interval_lp l", chronus="leases k"),
    _idea("a way to run a job", gavel="max_min_fairness k", hadar="round O_j", hops="round i,j"),
    _idea("jobs that share GPUs", gavel="max_min_fairness C_m"),
    _idea("GPUs that there are", gavel="max_min_fairness c_a", hadar="offline c_r", hops="round S_t",
          hare="interval_lp c_k", chronus="leases M_kh"),
    _idea("GPUs that a job takes", gavel="max_min_fairness z_m", hadar="offline W_j; round w_jor",
          hops="round Consume_ijt", chronus="leases g_ih"),
    _idea("speed", gavel="max_min_fairness T^m_kj", hadar="offline X_jb", hops="round G_ij"),
    _idea("time of a task", hare="exact T^c_im"),
    _idea("time to synchronise", hare="exact T^s_im"),
    _idea("work that is left", gavel="finish_time_fairness n_m", hadar="offline E_j N_j", hare="interval_lp W_n",
          chronus="leases RL_i"),
    _idea("arrival", hadar="offline a_j", hare="exact a_n"),
    _idea("deadline", gavel="min_cost_slo SLO_m", chronus="leases DL_ip"),
    _idea("weight or priority", gavel="max_min_fairness w_m", hops="round W_i", hare="exact w_n"),
    _idea("what completing is worth", hadar="offline U_jt", chronus="leases V_ip"),
    _idea("price of a GPU", gavel="min_cost_slo p_j", hadar="dual k_rt"),
    _idea("what a job gains", hadar="dual mu_j; round mu_jo"),
    _idea("share of time (decided)", gavel="max_min_fairness X_kj"),
    _idea("whether a job gets it (decided)", hadar="round y_jo; offline z_jtb", hops="round X_ij", hare="exact y_im",
          chronus="leases x_ik"),
    _idea("when it starts (decided)", hare="exact x_i"),
    _idea("completion (follows)", hadar="offline f_jt", hare="exact C_n", chronus="leases s_ip"),
    _idea("the worst-off job (follows)", gavel="max_min_fairness t"),
)  # fmt: skip
"""In reading order: who, where and when, what is given, what is decided, what follows."""


def symbol_index(tex: bool = False) -> pd.DataFrame:
    """A row for each idea, a column for each paper: the letters that stand for it there ("" where it has none).

    tex: as a notebook shows them, `$T_{mj}$`.
    """
    shown: Callable[[str], str] = notation.inline if tex else str
    rows = []
    for idea in IDEAS:
        letters = {paper: dict.fromkeys(map(_letter, idea.symbols.get(paper, ()))) for paper in PAPERS}
        rows.append({"idea": idea.name, **{paper: ", ".join(map(shown, found)) for paper, found in letters.items()}})
    return pd.DataFrame(rows)


def symbol_table(tex: bool = False) -> pd.DataFrame:
    """All symbols of all papers: paper, formulation, symbol, meaning, unit, idea ("" if the index does not have it).

    A symbol that several formulations of a paper use with the same meaning has one row, with the one that the index
    names, or the first of them. tex: symbols and meanings as a notebook shows them.
    """
    ideas = {each: idea.name for idea in IDEAS for found in idea.symbols.values() for each in found}
    rows = []
    for room in papers():
        for formulation in room.formulations:
            table = notation.symbols(_model(formulation))
            rows += [
                (room.name, formulation.name, symbol, meaning, unit, ideas.get(f"{formulation.name} {symbol}", ""))
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
        for idea in IDEAS
        for paper, found in idea.symbols.items()
        for each in found
    ]
    table = pd.DataFrame(named, columns=["letter", "paper", "idea"]).drop_duplicates()
    several = table.groupby("letter")["idea"].transform("nunique") > 1
    wide = table[several & (table["letter"].str.len() == 1)].groupby(["letter", "paper"])["idea"].agg("; ".join)
    found = wide.unstack("paper", fill_value="").reindex(columns=list(PAPERS), fill_value="")
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
    """The papers' rooms, in the order of `PAPERS`."""
    known = {room.name: room for room in rooms()}
    return tuple(known[name] for name in PAPERS)


def _letter(named: str) -> str:
    """The symbol of `formulation symbol`."""
    return named.partition(" ")[2]


def _model(formulation: Formulation[Any]) -> pyo.ConcreteModel:
    """The model of its paper's example, at the instant at which that is solved."""
    scenario = preset(EXAMPLES[formulation.name.split(".")[0]])
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


def _estimates(room: Room) -> bool:
    return any(room.title in _title_of(estimator.title) for estimator in ESTIMATORS)


def _title_of(title: str) -> str:
    """The paper that an estimator names in brackets."""
    return title.rpartition("(")[2].rstrip(")").replace("HadarE", "Hadar")


HANDLED: Mapping[str, Finds] = {
    "weights that jobs are given": _uses("weight"),
    "groups of jobs": _uses("entity"),
    "deadlines or rewards": _uses("rewards"),
    "the number of GPUs is chosen": _uses("gpu_choices"),
    "tasks in rounds": _uses("tasks_per_round"),
    "jobs that share a GPU": _knob("space_sharing"),
    "a gang over several types": _knob("mixed_types"),
    "forked copies": _knob("forks"),
    "where a gang lies": _knob("placement_sensitive", "topology", "communication_cost", "speed_classes"),
    "time to switch jobs": _uses("models.model_gb", "models.load_s"),
    "profiling before running": _knob("profile", "profile_iterations", "profile_steps"),
    "speeds that are estimated": _estimates,
    "a problem with all jobs known ahead": lambda room: any(found.offline for found in room.formulations),
}
"""What a paper may handle, and how the registry shows that it does."""


def paper_map() -> pd.DataFrame:
    """A row for each thing that a paper may handle, a column for each paper: whether it does, as implemented here."""
    found = papers()
    rows = [{"handles": what, **{room.name: finds(room) for room in found}} for what, finds in HANDLED.items()]
    return pd.DataFrame(rows)
