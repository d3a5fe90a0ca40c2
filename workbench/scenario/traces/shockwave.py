"""Shockwave's trace files: Gavel's with two more columns, read with the same file of throughputs.

Between scale factor and priority weight stands the mode (static, accordion, gns: how the batch size changes while a job
runs), before the arrival the duration. Batch sizes stay here as the job type says, and a duration follows from steps
and throughput, as in `workbench.scenario.traces.gavel`: it is not read.
"""

from __future__ import annotations

from pathlib import Path

from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.dropped_rows import ConversionSummary
from workbench.scenario.traces.gavel import TraceLayout, convert_form
from workbench.scenario.traces.trace_file import TraceCut

FORMAT = "shockwave"
FORM = TraceLayout(FORMAT, "a Shockwave trace: one job a line, 12 columns between tabs", 12, (5, 6, 8, 9, 11), mode=7)


def convert(source: str | Path, throughputs: str | Path | None, cut: TraceCut) -> tuple[Scenario, ConversionSummary]:
    """A scenario from a trace, its throughputs and a cluster (see `workbench.scenario.traces.Loader`)."""
    return convert_form(FORM, source, throughputs, cut)
