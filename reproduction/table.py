"""The table of all exhibits: what the papers show, the verdict, and the evidence for it."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reproduction.causes import COLUMNS as GAP_COLUMNS
from reproduction.causes import SUMS, UNEXPLAINED, as_claimed, caveats, gaps, seeds_of
from reproduction.exhibits import AUTHORS, NEAR, PROBE, Exhibit, Finding, findings, spread, verdict
from reproduction.figure import as_html
from reproduction.registry import chosen, exhibits, reproductions, sizes_of
from reproduction.results import KeptResults
from reproduction.runner import MOST, ranked, wanted, why_first
from workbench.analysis.metrics.confidence import LEVEL, chance, holm
from workbench.base.errors import counted
from workbench.base.rounding import short_number
from workbench.base.units import format_duration

ALIKE = "deterministic"
"""The seeds of a result that is the same for all of them, as that of a trace is."""
UNLIKE = ("partly", "contradicted", "undecided")
"""Verdicts whose causes are asked for."""
NOTHING = "Nothing is kept"
NOT_AGAIN = "No seed of some commit is computed again yet: python -m reproduction check"
NOT_YET = "Its causes are not computed: python -m reproduction gap"


def rows(results: KeptResults | None = None, *names: str) -> list[dict[str, Any]]:
    """One row for each exhibit, as JSON has it: paper, what we get on the authors' data and on built-in data, verdict.

    names: of exhibits or papers, by default all; raises InputError for one that there is not.

    The verdict is that at the first size of `ranked` (why_size: in words), as are seeds, command, commit and interval,
    which is of the first claim there, null above or below where it has no end, of seconds of a machine their `spread`;
    of each data the first of its sizes stands beside it. outcomes: how many claims hold, have the direction, are open
    or fail. more: of a row whose intervals are wide and that has fewer than `MOST` seeds. machine_s: CPU seconds of its
    processes, some more beside other work than alone. other_scales: what is kept at sizes beside these; trends: what
    becomes of a claim's measure there.
    """
    kept = results or KeptResults()
    return [_row(name, exhibits()[name], kept) for name in chosen(names)]


def _row(name: str, exhibit: Exhibit, results: KeptResults) -> dict[str, Any]:
    sizes = ranked(name, results)
    there = {size: _at(name, exhibit, results, size) for size in sizes}
    shown: dict[str, Any] = there[sizes[0]] if sizes else {"verdict": verdict(exhibit, ()), "no_again": NOTHING}
    of = {authors: next((s for s in sizes if s.startswith(AUTHORS) == authors), "") for authors in (True, False)}
    gap = _gap(name, results, shown.get("claims", ()))
    names = (
        "size", "verdict", "outcomes", "settings", "scale", "seeds", "more", "interval", "interval_of", "belief",
        "command", "commit", "again", "no_again", "machine_s",
    )  # fmt: skip
    return {
        "id": name,
        "paper": exhibit.says,
        "reason": exhibit.reason,
        "unvaried": list(exhibit.unvaried),
        **{each: shown.get(each) for each in names},
        "why_size": why_first(name, results) if sizes else None,
        "seeds": shown.get("seeds") or (None if exhibit.timed or exhibit.told(0) == 0 else ALIKE),
        "authors_data": there.get(of[True]),
        "built_in_data": there.get(of[False]),
        "other_scales": [there[size] for size in sizes_of(name) if size in there and size not in of.values()],
        "trends": trends([there[size] for size in sizes_of(name) if size in there]),
        "gap": gap,
        "no_gap": "" if gap or shown["verdict"] not in UNLIKE else exhibit.no_gap or f"{NOT_YET} {name}",
    }


def _gap(name: str, results: KeptResults, claims: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What each cause of a difference is worth, where that is kept. claims: of the row; not_parted: measures of those
    that do not hold, of which it is not, against what the paper says."""
    kept = results.gap(name)
    if kept is None:
        return None
    found = as_claimed(name, kept)
    shown = found[list(GAP_COLUMNS)].astype(object)
    parted = set(found[found["cause"].str.startswith("paper") & found["from_all"].notna()]["measure"])
    unlike = [each["measure"] for each in claims if each["outcome"] != "holds"]
    return {
        "size": gaps()[name].size,
        "seeds": seeds_of(name, found),
        "said": caveats(name, found, claims),
        "not_parted": [each for each in unlike if each not in parted],
        "command": f"python -m reproduction gap {name} --out build/reproduction",
        "commit": str(found["commit"].iloc[0]),
        "machine_s": _known(float(found["cpu_s"].iloc[0])) if "cpu_s" in found else None,
        "lines": shown.where(shown.notna(), None).to_dict("records"),
    }


def machine_s(name: str, size: str, results: KeptResults) -> float:
    """CPU seconds of what is kept at a size, or of the exhibit whose runs it shares where those were counted there."""
    of = exhibits()[name].shares
    kept = results.read(name)
    spent = kept[kept["size"] == size].groupby("seed")["cpu_s"].first().sum()
    return round(max(float(spent), machine_s(f"{name.split('.')[0]}.{of}", size, results) if of else 0.0), 1)


def _at(name: str, exhibit: Exhibit, results: KeptResults, size: str) -> dict[str, Any]:
    """What is known at a size. more: seeds that are wanted still and what they would take by those that are there;
    again: the commit at which `check` had a seed of each of `commit` come out the same, or why there is none."""
    table = results.read(name)
    cells = table[table["size"] == size]
    found, seeds = findings(exhibit, cells), sorted(set(cells["seed"].tolist()))
    told = f" --seeds {len(seeds)}" if exhibit.seeded else ""
    first = found[0] if found else None
    spent_s = machine_s(name, size, results)
    more = MOST - len(seeds) if exhibit.seeded and wanted(name, size, results) else 0
    commits = list(dict.fromkeys(cells["commit"].tolist()))
    notes = results.notes()
    again = notes[(notes["name"] == name) & (notes["size"] == size)].set_index("commit")["at"].to_dict()
    missing = [of for of in commits if of not in again]
    ends = None if first is None else (first.low, first.high)
    if first and exhibit.is_timed(first.measure):
        ends = spread(cells.loc[cells["measure"] == first.measure, "ours"].tolist())
    return {
        "size": size,
        "verdict": verdict(exhibit, found),
        "outcomes": dict(Counter(each.outcome for each in found)),
        "settings": f"{'authors' if size.startswith(AUTHORS) else 'built-in'} data, size {size}",
        "scale": exhibit.scale(sizes_of(name)[size]),
        "seeds": seeds_at(exhibit, cells),
        "belief": exhibit.belief,
        "interval": ends and [_known(end) for end in ends],
        "interval_of": first and first.measure,
        "command": f"python -m reproduction run {name} --size {size}{told} --out build/reproduction",
        "commit": ", ".join(commits),
        "again": None if missing else ", ".join(dict.fromkeys(again[of] for of in commits)),
        "no_again": f"{NOT_AGAIN} {name} ({', '.join(missing)})" if missing else "",
        "machine_s": spent_s,
        "more": {"seeds": more, "machine_s": round(more * spent_s / len(seeds))} if more else None,
        "claims": [{key: _known(value) for key, value in each._asdict().items()} for each in found],
    }


def seeds_at(exhibit: Exhibit, cells: pd.DataFrame) -> int | str:
    """What a table says of the seeds of what is kept at a size."""
    count = cells["seed"].nunique()
    alike = count > 1 and bool((cells.groupby("measure")["ours"].nunique(dropna=False) == 1).all())
    return ALIKE if alike and exhibit.seeded else exhibit.told(count)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def told_seeds(row: Mapping[str, Any]) -> str:
    """The seeds of a row, of how many spans they are draws, and where more are wanted what they would take."""
    told, more = "" if row["seeds"] is None else str(row["seeds"]), row["more"]
    if spans := exhibits()[row["id"]].spans_at(row["size"] or ""):
        told += f" draws of {spans} spans"
    return f"{told}; {MOST} would take {format_duration(more['machine_s'])} more of a core" if more else told


def told_verdict(row: Mapping[str, Any]) -> str:
    """The verdict of a row, of a part with how many claims hold, as `partly (2 of 14)`."""
    of = row["outcomes"] or {}
    part = f" ({of.get('holds', 0)} of {sum(of.values())})" if row["verdict"] == "partly" else ""
    return f"{row['verdict']}{part}"


def _told_size(row: Mapping[str, Any]) -> str:
    """Which size of several a row is of, and why."""
    return f"the verdict is of size {row['size']}: {row['why_size']}" if len(kept_sizes(row)) > 1 else ""


def told_outcomes(row: Mapping[str, Any]) -> str:
    """How many claims of a row came out how, as `2 holds, 1 open`."""
    return ", ".join(f"{count} {outcome}" for outcome, count in (row["outcomes"] or {}).items())


def counts(found: list[dict[str, Any]]) -> str:
    """How many exhibits have which verdict, in words."""
    number = Counter(row["verdict"] for row in found)
    return ", ".join(f"{count} {verdict}" for verdict, count in number.most_common())


class Evidence:
    """The kept results of a paper, for its page: exhibit by exhibit each claim with its outcome, and what each cause of
    a difference is worth where that is kept."""

    def __init__(self, paper: str, results: KeptResults | None = None) -> None:
        self.paper = paper
        self.rows = rows(results, paper)

    @property
    def table(self) -> pd.DataFrame:
        """For each claim: exhibit, data, measure, unit, claim, ours, low, high, outcome, seeds or spans, verdict."""
        lines = [
            (row["id"], shown["settings"], *(claim[key] for key in Finding._fields if key not in ("paper", "seeds")),
             shown["seeds"] if isinstance(shown["seeds"], str) else claim["seeds"], shown["verdict"])
            for row in self.rows
            for shown in (row["authors_data"], row["built_in_data"])
            if shown
            for claim in shown["claims"]
        ]  # fmt: skip
        names = ["exhibit", "data", "measure", "unit", "claim", "ours", "low", "high", "outcome", "seeds", "verdict"]
        floats = dict.fromkeys(("ours", "low", "high"), float)
        return pd.DataFrame(lines, columns=names).astype(floats)

    def _repr_html_(self) -> str:
        plain = next(each.belief for each in reproductions() if each.name == self.paper)
        short = [
            (row["id"], told_verdict(row), told_outcomes(row), row["paper"],
             "; ".join(filter(None, (row["scale"], _told_size(row), row["reason"], row["no_gap"]))), told_seeds(row),
             (row["belief"] or "").replace(plain, ""), row["command"] or "")
            for row in self.rows
        ]  # fmt: skip
        names = ["exhibit", "verdict", "claims", "the paper", "scale, or why not", "seeds", "speeds", "command"]
        unvaried: dict[str, list[str]] = {}
        for row in self.rows:
            for what in row["unvaried"]:
                unvaried.setdefault(what, []).append(row["id"].partition(".")[2])
        told = "".join(f"<li>{html.escape(what)}: {', '.join(ids)}</li>" for what, ids in unvaried.items())
        gaps = [
            f"<p>{row['id']}, {told_gap(row['gap'])}</p>{as_html(parted(row['gap']['lines']))}"
            for row in self.rows
            if row["gap"]
        ]
        return (
            f"<p>Speeds that schedulers are told, where a line has no others: {html.escape(plain)}.</p>"
            f"{as_html(pd.DataFrame(short, columns=names))}"
            f"<p>Not varied, so that it may be a reason:</p><ul>{told}</ul>"
            f"{as_html(self.table)}{self._by_scale()}{''.join(gaps)}"
        )

    def _by_scale(self) -> str:
        """Of each exhibit that is kept at several scales its claims side by side, for a page."""
        made = ""
        for row in self.rows:
            if row["other_scales"]:
                scales = [f"{each['settings']}: {each['scale']}" for each in kept_sizes(row)]
                made += f"<p>{html.escape('. '.join([row['id'] + ' by scale', *scales]))}</p>{as_html(by_scale(row))}"
        return made


def surely(claims: pd.DataFrame) -> pd.DataFrame:
    """Those of the rows `Evidence.table` that still differ from 0 when all of them are corrected for (Holm)."""
    widths = (claims["high"] - claims["low"]) / 2
    chances = holm([chance(*each) for each in zip(claims["ours"], widths, claims["seeds"], strict=True)])
    return claims[[p < 1 - LEVEL for p in chances]]


def trends(kept: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Of each measure of a claim, from the first size to each later one with the same data: where it goes.

    By the interval of the difference of the two means: it *holds* within `NEAR` of the larger one, else *grows* or
    *shrinks* where it is on one side of 0, else it is *open*, as it is where one of them has no interval.
    """
    of, found = {each["size"]: {claim["measure"]: claim for claim in each["claims"]} for each in kept}, []
    for authors in (False, True):
        known = [size for size in of if size.startswith(AUTHORS) == authors]
        found += [
            {"measure": measure, "from": known[0], "to": size, "trend": _trend(of[known[0]][measure], claim)}
            for size in known[1:]
            for measure, claim in of[size].items()
            if measure in of[known[0]]
        ]
    return found


def _trend(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    ends = (*(each[end] for each in (one, other) for end in ("ours", "low", "high")),)
    if None in ends or 1 in (one["seeds"], other["seeds"]):
        return "open"
    half = math.hypot(one["high"] - one["low"], other["high"] - other["low"]) / 2
    rise, near = other["ours"] - one["ours"], NEAR * max(abs(one["ours"]), abs(other["ours"]))
    if abs(rise) + half <= near:
        return "holds"
    return "open" if abs(rise) <= half else "grows" if rise > 0 else "shrinks"


def kept_sizes(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is kept of a row at every size, those with the same data side by side, the smallest first."""
    of = {each["size"]: each for each in (*row["other_scales"], row["built_in_data"], row["authors_data"]) if each}
    return [of[size] for size in sizes_of(row["id"]) if size in of]


def by_scale(row: Mapping[str, Any]) -> pd.DataFrame:
    """A line for each claim of a row, with what was found at every size that is kept: mean, interval, seeds."""
    lines: dict[str, dict[str, str]] = {}
    for each in kept_sizes(row):
        for claim in each["claims"]:
            ends = [short_number(math.nan if end is None else end) for end in (claim["low"], claim["high"])]
            mean = short_number(math.nan if claim["ours"] is None else claim["ours"])
            text = f"{mean} ({' to '.join(ends)}; {claim['outcome']})" if ends[0] != ends[1] else mean
            made = lines.setdefault(claim["measure"], {"measure": claim["measure"], "claim": claim["claim"]})
            made[f"{each['settings']}, seeds: {each['seeds']}"] = text
    for each in row["trends"]:
        told = f"{each['trend']} from {each['from']} to {each['to']}"
        made = lines[each["measure"]]
        made["trend"] = "; ".join(filter(None, (made.get("trend"), told)))
    return pd.DataFrame(lines.values()).fillna("")


def told_gap(gap: Mapping[str, Any]) -> str:
    """What stands above a gap on a page."""
    seeds = counted(gap["seeds"], "seed") if isinstance(gap["seeds"], int) else gap["seeds"]
    begin = (
        f"size {gap['size']}, {seeds}: how much each cause moves a measure, taken in first (interval over seeds) / "
        "left out last, and what is left to the paper's"
    )
    others = f"Not parted: {', '.join(gap['not_parted'])}" if gap["not_parted"] else ""
    return ". ".join(filter(None, (begin, gap["said"], others)))


def parted(lines: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """A line for each measure: ours, each step from both ends, interaction, with all, paper, unexplained; probes."""
    made: dict[str, dict[str, str]] = {}
    for line in lines:
        cause, (first, last) = str(line["cause"]), (line["from_ours"], line["from_all"])
        blank = (
            "" if cause.startswith("paper") or not made.get(str(line["measure"]), {}).get("paper", "?") else "unknown"
        )
        ends = [blank if end is None else short_number(float(end)) for end in (first, last)]
        if line["low"] is not None and cause not in SUMS:
            ends[0] += f" ({short_number(line['low'])} to {short_number(line['high'])})"
        text = ends[0] if ends[0] == ends[1] or cause.startswith(PROBE) else " / ".join(ends)
        name, _, sign = cause.partition(", ") if cause.startswith(("paper", UNEXPLAINED)) else (cause, "", "")
        text = f"{sign} {text}" if name == UNEXPLAINED else sign or text
        made.setdefault(str(line["measure"]), {})[name] = text.strip()
    table = pd.DataFrame([{"measure": measure, **cells} for measure, cells in made.items()]).fillna("")
    return table[sorted(map(str, table), key=lambda name: str(name).startswith(PROBE))]
