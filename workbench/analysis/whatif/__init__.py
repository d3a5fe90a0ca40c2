"""What if one thing were different: changes, paired runs with confidence intervals, and what one more GPU is worth."""

from workbench.analysis.draws import drawn
from workbench.analysis.whatif.ask import WhatIf, WhatIfPlan, concluded, planned, what_if
from workbench.analysis.whatif.change import Change
from workbench.analysis.whatif.changes import (
    KINDS,
    Density,
    FaultsTo,
    KnobTo,
    Load,
    NodesBy,
    RestartTo,
    SchedulerTo,
    parse_change,
)
from workbench.analysis.whatif.configuration import Configuration
from workbench.analysis.whatif.paired import Paired, paired
from workbench.analysis.whatif.site_changes import OutageOf, SetTo, Together, Without

__all__ = [
    "KINDS",
    "Change",
    "Configuration",
    "Density",
    "FaultsTo",
    "KnobTo",
    "Load",
    "NodesBy",
    "OutageOf",
    "Paired",
    "RestartTo",
    "SchedulerTo",
    "SetTo",
    "Together",
    "WhatIf",
    "WhatIfPlan",
    "Without",
    "concluded",
    "drawn",
    "paired",
    "parse_change",
    "planned",
    "what_if",
]
