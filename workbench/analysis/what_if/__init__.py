"""What if one thing were different: changes, paired runs with confidence intervals, and what one more in a type's
row is worth."""

from workbench.analysis.bootstrap import drawn
from workbench.analysis.metrics.paired import Paired, paired
from workbench.analysis.what_if.ask import WhatIf, WhatIfQuestion, ask, concluded, what_if
from workbench.analysis.what_if.change import Change, Configuration
from workbench.analysis.what_if.changes import (
    KINDS,
    DensityTo,
    FaultsTo,
    KnobTo,
    LoadTo,
    NodesBy,
    RestartTo,
    SchedulerTo,
    parse_change,
)
from workbench.analysis.what_if.site_changes import NodesWithout, OutageOf, SeveralChanges, SiteSettingTo

__all__ = [
    "KINDS",
    "Change",
    "Configuration",
    "DensityTo",
    "FaultsTo",
    "KnobTo",
    "LoadTo",
    "NodesBy",
    "NodesWithout",
    "OutageOf",
    "Paired",
    "RestartTo",
    "SchedulerTo",
    "SeveralChanges",
    "SiteSettingTo",
    "WhatIf",
    "WhatIfQuestion",
    "ask",
    "concluded",
    "drawn",
    "paired",
    "parse_change",
    "what_if",
]
