"""What it is worth to know speeds better (sections 3.3 and 7.6): least attained service told by every estimator."""

from __future__ import annotations

from dataclasses import replace

from reproduction.figure import PaperFigure
from reproduction.gavel.load import AGNOSTIC, AWARE, LAS, SHARED
from reproduction.gavel.settings import GavelSize
from reproduction.gavel.sweep import measured, multiple, single, windowed
from reproduction.information import BOOTSTRAPPED, LOW_RANK, NOTHING, PMI, TYPES, beliefs, errors_panel, rows
from reproduction.line import Line


def information(size: GavelSize) -> PaperFigure:
    """Mean JCT at the highest load by what is told, over that of who is told the true speeds of types.

    Low rank tells of pairs only, PMI and bootstrapped of none: each is told to whom it tells something, and who shares
    GPUs is looked at where most jobs can, that have one each. The agnostic line is told nothing. At the size `authors`
    models have no facts for PMI to go by.
    """
    known = (TYPES, BOOTSTRAPPED) if size.measured_speeds else (TYPES, BOOTSTRAPPED, PMI)
    told = {
        Line(AWARE, LAS): beliefs(known, size.name, size.seeds[0]),
        Line(SHARED, LAS, {"space_sharing": True}): beliefs((TYPES, LOW_RANK), size.name, size.seeds[0]),
        Line(AGNOSTIC, LAS, {"heterogeneity_aware": False}): {TYPES: "oracle"},
    }
    loads = {AWARE: multiple(size), SHARED: single(size), AGNOSTIC: multiple(size)}
    jct: dict[tuple[str, str], float] = {}
    for line, by in told.items():
        load = loads[line.name]
        scenario = load.scenario(size, load.per_hour[-1], size.seeds[0])
        for name, belief in by.items():
            run = windowed(replace(line, belief=belief), scenario, size.window)
            jct[line.name, name] = float(measured(run, size.window)["least_h"].mean())
    jct[AWARE, NOTHING] = jct.pop((AGNOSTIC, TYPES))
    title = "What it is worth to know speeds better"
    return PaperFigure("What is known", title, tuple(rows("mean JCT", jct, TYPES)), {"a": errors_panel(jct, TYPES)})
