"""What if one thing were different: changes, paired runs with confidence intervals, and what one more GPU is worth."""

from workbench.analysis.whatif.ask import WhatIf, WhatIfPlan, concluded, planned, what_if
from workbench.analysis.whatif.changes import (
    KINDS,
    Change,
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
from workbench.analysis.whatif.draws import drawn
from workbench.analysis.whatif.paired import Paired, paired

__all__ = [
    "KINDS",
    "Change",
    "Configuration",
    "Density",
    "FaultsTo",
    "KnobTo",
    "Load",
    "NodesBy",
    "Paired",
    "RestartTo",
    "SchedulerTo",
    "WhatIf",
    "WhatIfPlan",
    "concluded",
    "drawn",
    "paired",
    "parse_change",
    "planned",
    "what_if",
]
