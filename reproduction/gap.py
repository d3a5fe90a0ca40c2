"""Whose fault it is: where a measure of ours differs from the paper's, how much each cause moves it.

A cause changes fields of a size, from how we have it to how the paper has it, as far as that can be had. Each is
changed alone at both ends: taken in first (from ours) and left out last (from all of them). Where causes do not
interact the two agree and add up; what they do not add up to is the interaction, and what is left to the paper's number
with all of them is unexplained.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import pandas as pd

from reproduction.registry import exhibits, reproductions
from workbench.base.errors import InputError, one_of

COLUMNS = ("measure", "cause", "from_ours", "from_all")


class Causes(NamedTuple):
    """size: where it begins, with `base` changed in it; measures: names as in `Claim`; fields: what a cause changes."""

    size: str
    base: Mapping[str, Any]
    measures: tuple[str, ...]
    fields: Mapping[str, Mapping[str, Any]]


SPEEDS = {"measured_speeds": True}
GAPS: Mapping[str, Causes] = {
    "gavel.fig20": Causes(
        "small",
        {"seeds": range(1), "multiple": (1.0,)},
        ("mean JCT of * jobs, agnostic / Gavel, highest steady load",),
        {
            "data: the authors' speeds": SPEEDS,
            "setting: a higher load": {"multiple": (1.6,)},
            "scale: 24 GPUs for 12": {"cluster": "v100=2x4,p100=2x4,k80=2x4"},
        },
    ),
    "gavel.fig11": Causes(
        "full",
        {},
        ("throughput lost by a static partition",),
        {"data: the authors' speeds": SPEEDS, "setting: ten draws of jobs for three": {"seeds": range(10)}},
    ),
    "chronus.fig7a": Causes(
        "full",
        {"seeds": range(2), "clusters": (("P", 10, 120, 2.0),), "lease_min": (5, 20, 60)},
        ("wDMR, leases of *", "length of the lease with the lowest wDMR"),
        {
            "data: days of the authors' Philly file": {"public": True},
            "setting: as many jobs a day as in Table 1": {"clusters": (("P", 10, 120, 1.0),)},
        },
    ),
}


def gap(name: str) -> pd.DataFrame:
    """`COLUMNS` of an exhibit in `GAPS`, in units of its measures; raises InputError for another one.

    Beside the causes each measure has `ours`, `with all`, `interaction` (what `with all` differs from ours by, less the
    sum of the causes), `paper` and `unexplained` (the paper's less `with all`).
    """
    if name not in GAPS:
        raise InputError("exhibit", name, one_of(name, GAPS))
    causes, compute = GAPS[name], exhibits()[name].compute
    sizes = next(each.sizes for each in reproductions() if each.name == name.split(".")[0])
    start = replace(sizes[causes.size], **causes.base)
    assert compute is not None

    def values(*taken: str) -> dict[str, tuple[float, float]]:
        """By measure: ours and the paper's."""
        changed = {field: value for cause in taken for field, value in causes.fields[cause].items()}
        rows = compute(replace(start, **changed)).rows
        return {
            row.measure: (row.ours, math.nan if row.paper is None else row.paper)
            for row in rows
            if any(fnmatchcase(row.measure, pattern) for pattern in causes.measures)
        }

    every = tuple(causes.fields)
    ours, whole = values(), values(*every)
    alone = {cause: values(cause) for cause in every}
    without = {cause: values(*(other for other in every if other != cause)) for cause in every}
    lines: list[tuple[str, str, float, float]] = []
    for measure, (begin, paper) in ours.items():
        end = whole[measure][0]
        firsts = {cause: alone[cause][measure][0] - begin for cause in every}
        lasts = {cause: end - without[cause][measure][0] for cause in every}
        apart = (end - begin - sum(firsts.values()), end - begin - sum(lasts.values()))
        lines += [(measure, "ours", begin, begin), *((measure, cause, firsts[cause], lasts[cause]) for cause in every)]
        lines += [(measure, "interaction", *apart), (measure, "with all", end, end)]
        lines += [(measure, "paper", paper, paper), (measure, "unexplained", paper - end, paper - end)]
    return pd.DataFrame(lines, columns=list(COLUMNS))
