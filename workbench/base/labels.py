"""Labels for people, made from names in code; a unit stands beside a label only where the label does not say it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SPELT = {
    **{name.lower(): name for name in ("CPU", "CV", "GPU", "GPUs", "JCT", "LP", "MILP", "MIP", "PMI", "SLO")},
    "be": "best-effort",
}
"""How words of names are written, where not in small letters."""
_CALLED = {"size_class": "class"}
"""Names that say less than what they stand for: a class of jobs may be by their deadlines."""
_PLURAL = re.compile(r"[A-Za-z]{2,}s")


def words_of(name: str) -> str:
    """A name as words, without its unit of seconds: `slo_lease_s` is `SLO lease`."""
    words = _CALLED.get(name, name).removesuffix("_s").split("_")
    return " ".join(_SPELT.get(word, word) for word in words)


def label_of(name: str, unit: str = "") -> str:
    """A name as the label of a control or a row: a capital first, and its unit unless that is seconds or said."""
    suffix = f"_{unit.lower().replace(' ', '_')}" if " " in unit else ""  # of threshold_gpu_s, but not of most_jobs
    words = words_of(name.removesuffix(suffix))
    text = words if len(words) == 1 else words[0].upper() + words[1:]
    beside = "" if unit == "s" else unit_beside(text, unit)
    return f"{text} ({beside})" if beside else text


def head_of(name: str, unit: str = "") -> str:
    """A column's name as the head of a table: first_start_s is First start (s), steps_per_s Steps per second."""
    unit = unit or ("s" if name.endswith("_s") else "")
    if name.endswith("_per_s"):
        return label_of(f"{name}econd")
    label = label_of(name, unit)
    return f"{label} (s)" if unit == "s" else label


def unit_beside(label: str, unit: str) -> str:
    """The unit to write beside a label; empty for a plain number, and where the label says it (Preemptions, Jobs)."""
    said = unit == "1" or set(unit.lower().split()) <= set(label.lower().split())
    return "" if said else unit


def with_unit(text: str, unit: str) -> str:
    """A number with its unit, of one thing in the singular: `1 job`, `2 jobs`; nothing more for a plain number."""
    if unit in ("", "1"):
        return text
    return f"{text} {unit[:-1] if text.lstrip('+−-') == '1' and _PLURAL.fullmatch(unit) else unit}"


def value_text(value: object) -> str:
    """A knob's or label's value: numbers without needless digits."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def listed(given: Iterable[str], most: int = 4) -> str:
    """Names, the first few: `a and b`, `a, b, c, d and 3 more`."""
    names = list(given)
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
