"""Ways in: workloads from other tools' files, and made-up ones. A format is one file; adding it needs no other edit.

A module of this package is a format if it defines `FORMAT` (its name) and `convert`, the `Loader` below.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from workbench.base.collector import seldom_collected
from workbench.base.errors import InputError
from workbench.base.labels import listed
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.cluster_spec import parse_cluster
from workbench.scenario.traces.dropped_rows import ConversionSummary, Dropped
from workbench.scenario.traces.trace_file import TraceCut

__all__ = ["ConversionSummary", "Dropped", "Loader", "convert", "formats", "parse_cluster"]


class Loader(Protocol):
    """Reads a trace file into a scenario.

    source: a file, or `-` for standard input; throughputs: the file of speeds, where the format has one; cut: the
    cluster, as in a scenario file; from_s (included) and to_s (excluded), in the file's time: arrivals to keep, which
    then count from from_s, without it from the file's first one; sample: how many jobs to keep, drawn with seed.
    Raises InputError if the file is no such trace or no row is left; single bad rows are dropped and reported.
    """

    def __call__(
        self, source: str | Path, throughputs: str | Path | None, cut: TraceCut
    ) -> tuple[Scenario, ConversionSummary]: ...


@cache
def formats() -> Mapping[str, Loader]:
    """Every format by name."""
    found: dict[str, Loader] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        name = getattr(module, "FORMAT", None)
        if isinstance(name, str):
            found[name] = module.convert
    return found


@seldom_collected()
def convert(
    format: str,
    source: str | Path,
    throughputs: str | Path | None = None,
    cluster: Mapping[str, Any] | None = None,
    *,
    from_s: float | None = None,
    to_s: float | None = None,
    sample: int | None = None,
    workload: str | None = None,
    density_percent: float | None = None,
    seed: int = 0,
    pseudonyms: str | Path | None = None,
    **options: Any,
) -> tuple[Scenario, ConversionSummary]:
    """Read `source` as `format`; arguments are the Loader's, options the format's. One that is empty is not given.

    workload: slo, mix1 or mix2, to give the jobs deadlines as in Chronus's Table 1 (`deadlines.with_deadlines`);
    density_percent: that many of the jobs kept, first removed or injected at random (`density.at_density`). Both draw
    with `seed`, and the summary's notes tell of them. keep: columns of the trace that jobs keep as `attributes`, for
    formats with named columns; pseudonyms: a key file, to replace names (`workbench.scenario.traces.pseudonyms`); what
    belongs to Slurm's log: `workbench.scenario.traces.sacct.convert`. The scenario
    keeps the summary (`Scenario.notes`).
    """
    from workbench.scenario.traces.deadlines import check_workload, count_kinds, with_deadlines
    from workbench.scenario.traces.density import at_density, check_density
    from workbench.scenario.traces.pseudonyms import REAL, REPLACED, pseudonymous

    if format not in formats():
        raise InputError("format", format, f"one of: {', '.join(formats())}")
    check_workload(workload)
    check_density(density_percent)
    loader = formats()[format]
    options = {option: value for option, value in options.items() if value not in ((), [], None, "")}
    for option, value in options.items():
        if option not in _options(loader):
            able = [name for name, each in formats().items() if option in _options(each)]
            what = "named columns" if option == "keep" else f"use for {option}"
            got = value if isinstance(value, (str, int, float)) else ",".join(map(str, value))
            have = f"{listed(able)} {'have' if able[1:] else 'has'}"
            raise InputError(option, got, f"nothing: {format} has no {what}; {have}")
    cut = TraceCut(cluster, from_s, to_s, sample, seed)
    scenario, summary = loader(source, throughputs, cut, **options)
    notes, recorded = list(summary.notes), scenario.recorded
    if any(job.user is not None for job in scenario.jobs):
        notes.append(REAL if pseudonyms is None else REPLACED)
    if density_percent is not None:
        before = len(scenario.jobs)
        scenario, recorded = at_density(scenario, density_percent, seed), None
        notes.append(f"density {density_percent:g} %: {len(scenario.jobs)} jobs of {before}")
    if workload is not None:
        scenario = with_deadlines(scenario, workload, seed)
        strict, soft, rest = count_kinds(scenario)
        notes.append(f"workload {workload}: {strict} strict, {soft} soft and {rest} best-effort jobs, drawn anew")
    summary = replace(summary, notes=tuple(notes))
    if pseudonyms is not None:
        scenario, summary = pseudonymous(scenario, summary, pseudonyms)
    return scenario.model_copy(update={"notes": summary.lines(), "recorded": recorded}), summary


def _options(loader: Loader) -> list[str]:
    """What a format reads besides what every one does."""
    return list(inspect.signature(loader).parameters)[3:]


def __getattr__(name: str) -> Any:
    """`FORMATS`, found when first asked for: a format's module may import this package."""
    if name == "FORMATS":
        return formats()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
