"""The tables of a comparison as HTML: measures with the best marked, and what each scheduler reads of the jobs."""

from __future__ import annotations

import html
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from widgets.compare_lab.outcomes import Outcomes
from widgets.editors.mistakes import refusal
from widgets.lab.words import PROPERTIES, told
from workbench.analysis.comparison import Comparison, best_of
from workbench.analysis.metrics import metric, warned
from workbench.analysis.metrics.cards import pair_as_read
from workbench.analysis.metrics.confidence import LEVEL
from workbench.analysis.metrics.declared import MAIN, MARK
from workbench.analysis.metrics.summary import amount, with_known
from workbench.base.errors import counted
from workbench.base.labels import listed, unit_beside
from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.by_name import maker
from workbench.session.many_runs import RunRequest
from workbench.session.read_and_ignored import Reading, properties_set, reading
from workbench.session.registry import find_scheduler

FOR_ALL = "For all"
"""The tab with what the core does."""
ALSO = ("jobs_refused",)
"""Shown beside the main measures where it is not 0 everywhere."""
UNSURE, MAY_BE_CHANCE = "≈", "no difference shown, as 1 (of a difference 0) is in the interval: it may be chance"
TITLE_LETTERS = 24
"""What stands on one line of a title beside the list of schedulers, on a screen 1024 px wide."""
READINGS: Mapping[Reading, tuple[str, str]] = {
    "reads": ("wb-reads", "✓ reads"),
    "with other knobs": ("wb-ignored", "○ with other knobs"),
    "ignores": ("wb-ignored", "– ignores"),
}
"""How it is shown: a class and the words."""


def measures_table(outcomes: Outcomes, found: Comparison | None, against: str | None = None) -> str:
    """One row for each main measure, one column for each scheduler, the best of each row marked; failures say why.

    Several seeds: the mean, and below it the standard deviation and the ratio to the scheduler `against` (default: the
    first), seed by seed, with its interval.
    """
    names = measures_shown(found)
    heads = [""]
    columns = {label: [_standing(outcomes, label, len(names))] for label in outcomes.labels}
    if found is not None and names:
        means, spread, pairs = found.mean()[names], found.spread()[names], _pairs(found, against)
        if _is_alike(found):
            spread *= math.nan
        scales = [*map(_scale, names)]
        best = _clearly_best(found, means, scales)
        if "preemptions" in names and _switching(found, outcomes.titled):
            best["preemptions"] = False
        heads = [_measure(name, scale.unit) for name, scale in zip(names, scales, strict=True)]
        for label in means.index:
            columns[label] = [
                _cell(float(means[name][label]), beside, bool(best[name][label]) and not outcomes.waits, name, scale)
                for name, scale in zip(names, scales, strict=True)
                for beside in [_beside(float(spread[name][label]), scale, pairs.get((str(label), name), ""))]
            ]
    named = (_named(label, outcomes.titled) + _fewer(outcomes, label) for label in outcomes.labels)
    head = "".join(f"<th scope='col' class='wb-right-aligned'>{name}</th>" for name in named)
    rows = [
        f"<tr><th scope='row' class='wb-left-aligned'>{text}</th>"
        f"{''.join(cells[number] for cells in columns.values() if number < len(cells))}</tr>"
        for number, text in enumerate(heads)
    ]
    return (
        "<div class='wb-scroll wb-whole' tabindex='0' role='region' aria-label='Measures'>"
        "<table class='wb-data wb-measures'>"
        f"<thead><tr><th scope='col' class='wb-left-aligned'>Measure{_below(outcomes, found, against)}</th>{head}</tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>{_footnote(outcomes, found, against)}"
    )


def _fewer(outcomes: Outcomes, label: str) -> str:
    """Below a scheduler's name, where runs of it are missing: how many of them its column is of."""
    made = sum(outcomes.cases[number].label == label for number in outcomes.runs)
    of = f"{made} of {len(outcomes.seeds)} runs"
    return f"<div class='wb-note'>{of}</div>" if 0 < made < len(outcomes.seeds) else ""


def _below(outcomes: Outcomes, found: Comparison | None, against: str | None) -> str:
    """Below the head of the measures: what a cell has."""
    if found is None or _is_alike(found):
        return ""
    ratio = f"mean ± deviation, × ratio to {outcomes.titled(against or found.labels[0])}"
    text = ratio if len({case.seed for case in found.cases}) > 1 else "one run each"
    return f"<div class='wb-note'>{html.escape(text)}</div>"


def _clearly_best(found: Comparison, means: pd.DataFrame, scales: Sequence[_Scale]) -> pd.DataFrame:
    """The best of each measure and what reads the same; none where all do, or where seeds do not show a difference."""
    best = best_of(means)
    clear: dict[str, pd.Series[bool]] = {}
    for name, scale in zip(means.columns, scales, strict=True):
        mine = list(means.index[best[name]])
        if not mine:
            continue
        texts = means[name].map(scale.text)
        best[name] = texts == texts[mine[0]]
        worse = [label for label in means.index if not best[name][label]]
        for label in worse:  # to each, as the ratio of the best one to it would stand there
            if label not in clear:
                clear[label] = _shown_better(found, label)
        best[name] &= bool(worse) and all(clear[label].get((name, mine[0]), False) for label in worse)
    return best


def _shown_better(found: Comparison, against: str) -> pd.Series[bool]:
    """By measure and other scheduler, whether the pairs show it better than `against`: a mean may say the opposite."""
    pairs = found.paired_as_read(against).set_index(["measure", "scheduler"])
    above = pairs["ratio"].gt(1.0).where(pairs["ratio"].notna(), pairs["difference"].gt(0.0))
    higher = [metric(name).better == "higher" for name, _ in pairs.index]
    return ~pairs["unsure"] & (above == higher)


def _switching(found: Comparison, titled: Titled) -> str:
    """The schedulers in whose runs GPUs switch between jobs' tasks, which is no preemption of them."""
    runs = zip(found.cases, found.runs, strict=True)
    return listed(dict.fromkeys(titled(case.label) for case, run in runs if (run.timeline["kind"] == "switch").any()))


BEST = ("mean_jct_s", "makespan_s", "max_finish_time_fairness", "weighted_miss_rate")
"""Of these the best is named above the schedules: how soon, how long in all, how fair, how punctual."""


def best_line(outcomes: Outcomes, found: Comparison | None) -> str:
    """Who is best in what, on the mean of the seeds, in one line, as HTML; empty for one scheduler. While runs are to
    come only how many there are: who is best of them may not be the best of all.
    """
    far = f"{len(outcomes.runs)} of {counted(len(outcomes.cases), 'run')}"
    if outcomes.waits:
        return f"<p>{far} so far.</p>" if outcomes.runs else ""
    names = [name for name in BEST if name in measures_shown(found)]
    if found is None or not names or len(found.labels) < 2:
        return ""
    means = found.mean()[names]
    best, parts = best_of(means), []
    for name in names:
        mine = [str(label) for label in means.index if best[name][label]]
        if mine:
            value = html.escape(amount(float(means[name][mine[0]]), metric(name).unit))
            titles = html.escape(listed(map(outcomes.titled, mine)))
            way = "highest" if metric(name).better == "higher" else "lowest"
            parts.append(f"{html.escape(metric(name).label)} is {way} with <b>{titles}</b> ({value})")
    of = "" if len(outcomes.runs) == len(outcomes.cases) else f"Of {far}: "
    if not of and len(outcomes.seeds) == 1:
        of = "One run each: "
    elif not of and not _is_alike(found):
        drawn = ", their jobs drawn anew" if outcomes.setting.bootstrap else ""
        of = f"Means of {len(outcomes.seeds)} seeds{drawn}, which may differ by chance: "
    return f"<p>{of}{'; '.join(parts)}. The page Measures has all.</p>" if parts else ""


class _Scale(NamedTuple):
    """How the values of a measure are written: in parts of `per`, with the unit in the head of the row; times in words,
    as everywhere.
    """

    per: float
    unit: str
    is_time: bool = False

    def text(self, value: float) -> str:
        """A value."""
        return amount(value, "s") if self.is_time else short_number(value / self.per)


def _scale(name: str) -> _Scale:
    """In numbers as short as can be read."""
    found = metric(name)
    if found.unit == "s":
        return _Scale(1.0, "", is_time=True)
    if found.unit == "GPU-s":
        return _Scale(3600.0, "GPU h")
    if found.unit == "share":
        return _Scale(0.01, "%")
    return _Scale(1.0, unit_beside(found.label, found.unit))


def _measure(name: str, unit: str) -> str:
    """The head of a row: the measure with its unit, and what it means on hover, with which way is better."""
    behind = f" <span class='wb-note'>({html.escape(unit)})</span>" if unit else ""
    found = metric(name)
    meaning = html.escape(found.definition + (f"; {found.better} is better" if found.better else ""), quote=True)
    return f"<span class='wb-meaning' title='{meaning}'>{html.escape(found.label)}</span>{behind}"


def _beside(deviation: float, scale: _Scale, pair: str) -> str:
    """What stands below a mean, as HTML: the standard deviation (NaN: of one run), and `pair` of `_pairs`."""
    lines = ["" if math.isnan(deviation) else f"&plusmn;&nbsp;{scale.text(deviation)}", pair]
    return "<br>".join(filter(None, lines))


def _pairs(found: Comparison, against: str | None) -> dict[tuple[str, str], str]:
    """By scheduler and measure, what stands below the mean: how they stand to one of them."""
    if len({case.seed for case in found.cases}) == 1:
        return {}
    lines = {}
    for row in found.paired_as_read(against).to_dict("records"):
        if not (texts := pair_as_read(row)):
            continue
        middle, *ends = map(html.escape, texts)
        # At the space a line may end: beside Set-up columns are narrow.
        span = f" ({'&nbsp;to '.join(ends)})" if ends else ""
        unsure = f"&nbsp;<abbr title='{MAY_BE_CHANCE}'>{UNSURE}</abbr>" if row["unsure"] else ""
        times = "" if math.isnan(row["ratio"]) else "&times;&nbsp;"
        lines[str(row["scheduler"]), str(row["measure"])] = f"{times}{middle}{span}{unsure}"
    return lines


def _cell(value: float, beside: str, best: bool, name: str, scale: _Scale) -> str:
    """A value, with all its digits as people read them on hover; beside: HTML that stands below it."""
    if math.isnan(value):
        return f"<td class='wb-right-aligned wb-note wb-missing-value'>{metric(name).missing}</td>"
    text = scale.text(value)
    beside = f"<div class='wb-note'>{beside}</div>" if beside else ""
    full = html.escape(amount(value, metric(name).unit), quote=True)
    if best:
        mark = f"<b>{text}</b> <span aria-label='best'>{MARK}</span>{beside}"
        return f"<td class='wb-right-aligned wb-best' title='{full}'>{mark}</td>"
    return f"<td class='wb-right-aligned' title='{full}'>{text}{beside}</td>"


def _standing(outcomes: Outcomes, label: str, rows: int) -> str:
    """In place of a scheduler's measures, over all rows: it has no run yet, or the reason why there is none."""
    why = outcomes.why_not(label)
    if why is not None:
        text, tone = f"failed: {refusal(why, tab=FOR_ALL)}", "wb-bad"
    else:
        text, tone = "not run" if outcomes.over else "waiting ...", "wb-note"
    said = f"<div class='{tone}'>{html.escape(text)}</div>"
    return f"<td rowspan='{max(rows, 1)}' class='wb-left-aligned wb-why'>{said}</td>"


Titled = Callable[[str], str]
"""A scheduler's label with the scheduler called as in the list: `Outcomes.titled`."""


def _named(label: str, titled: Titled) -> str:
    """A scheduler as HTML that may go on in the next line after a point, a line, an equals sign; its label on hover."""
    said = re.sub(r"([._=])", r"\1<wbr>", html.escape(titled(label)))
    return f"<span title='{html.escape(label, quote=True)}'>{said}</span>"


def in_lines(title: str) -> str:
    """A title with a long label in lines that a narrow plot has room for; beyond its room a chart would shrink."""
    return "\n".join(textwrap.wrap(title, TITLE_LETTERS, break_long_words=False, break_on_hyphens=False))


def measures_shown(found: Comparison | None) -> list[str]:
    """The rows of the table."""
    if found is None:
        return []
    names = with_known(MAIN, found.summaries)
    also = tuple(name for name in ALSO if (found.measures[name] > 0).any())
    return [name for name in (*names, *also) if found.measures[name].notna().any()]


def _footnote(outcomes: Outcomes, found: Comparison | None, against: str | None) -> str:
    """What a reader must know of the marks."""
    if found is None:
        return ""
    several = len({case.seed for case in found.cases}) > 1 and not _is_alike(found)
    none = f", none where that may be chance ({UNSURE}) or the ratio says the opposite" if several else ""
    if len(outcomes.seeds) == 1:
        none = " of one run each; several (Runs each, in Set-up) show how much is chance"
    said = [f"{MARK} best in its row{none}.", _known(found, outcomes.titled)]
    titled = outcomes.titled
    first = against or found.labels[0]
    if _is_alike(found):
        said.append(f"Every seed gave the same measures; below a value: its ratio to {titled(first)}.")
    elif several:
        chances = "draws of such jobs" if outcomes.setting.bootstrap else "these jobs' chances"
        said.append(
            f"Below a mean: \N{PLUS-MINUS SIGN} standard deviation over the seeds; its ratio to {titled(first)}, "
            f"the geometric mean of the seeds' (not the ratio of the means; the plain mean if one is 0), the "
            f"difference where a seed there has 0, with its interval over {chances}, "
            f"so wide that with {100 * LEVEL:g} % all of a row hold (Bonferroni); {UNSURE} {MAY_BE_CHANCE}."
        )
    if switching := _switching(found, titled):
        said.append(f"Nobody is marked best in preemptions: switches of task ({switching}) do not count as such.")
    left = found.measures[(found.measures["jobs_unfinished"] > 0) | (found.measures["jobs_refused"] > 0)]["scheduler"]
    if len(left):
        names = ", ".join(map(titled, dict.fromkeys(left)))
        said.append(f"Means over jobs are of those that finished: {names} left some undone, which flatters its means.")
    some = [f"{titled(case.label)} (seed {case.seed})" for case, _ in found.failed if case.label in found.labels]
    if some:
        said.append(f"Without the failed runs of {', '.join(some)}.")
    each = zip(found.cases, found.summaries, strict=True)
    lines = [" ".join(said), *warned((titled(case.label), one) for case, one in each)]
    return "".join(f"<p class='wb-note'>{html.escape(line)}</p>" for line in lines)


def _is_alike(found: Comparison) -> bool:
    """Whether there are several seeds, and all gave each scheduler the same measures."""
    names, several = measures_shown(found), len({case.seed for case in found.cases}) > 1
    nowhere = found.measures.groupby("scheduler")[names].count() == 0
    return several and bool(((found.spread()[names] == 0.0) | nowhere).all(axis=None))


def _known(found: Comparison, titled: Titled) -> str:
    """What all were told of speeds, or each."""
    titles = {label: maker(belief).estimator.title for label, belief in found.beliefs.items()}
    if len(set(titles.values())) == 1:
        return f"Speeds known by all: {next(iter(titles.values()))}."
    return "Speeds known: " + "; ".join(f"{titled(label)}: {title}" for label, title in titles.items()) + "."


def _row(label: str, titled: Titled, cells: str) -> str:
    return f"<tr><th scope='row' class='wb-left-aligned'>{_named(label, titled)}</th>{cells}</tr>"


def decides_table(asked: Mapping[str, RunRequest], titled: Titled) -> str:
    """What decides in each scheduler (by label: a run of it): a problem, another way to its optimum, or rules."""
    rows = []
    for label, run in asked.items():
        found = find_scheduler(run.scheduler)
        said = html.escape(told(found.route(found.settle(run.knobs))))
        rows.append(_row(label, titled, f"<td>{said}</td>"))
    heads = "".join(f"<th scope='col' class='wb-left-aligned'>{text}</th>" for text in ("Scheduler", "Decides by"))
    return (
        f"<table class='wb-data wb-reads-table wb-decides'><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def reads_table(scenario: Scenario, asked: Mapping[str, RunRequest], titled: Titled) -> str:
    """What the scenario sets, and which scheduler (by label: a run of it) reads it or leaves it aside."""
    names = properties_set(scenario)
    if not names:
        return "<p class='wb-note'>This scenario sets nothing that only some schedulers read.</p>"
    head = "".join(f"<th scope='col' title='{html.escape(n)}'>{html.escape(PROPERTIES.get(n, n))}</th>" for n in names)
    rows = []
    for label, run in asked.items():
        found = reading(scenario, run.scheduler, run.knobs, run.belief)
        cells = (f"<td class='{READINGS[found[each]][0]}'>{READINGS[found[each]][1]}</td>" for each in names)
        rows.append(_row(label, titled, "".join(cells)))
    return (
        "<div class='wb-scroll wb-whole' tabindex='0' role='region' aria-label='What each scheduler reads'>"
        "<table class='wb-data wb-reads-table'>"
        f"<thead><tr><th scope='col' class='wb-left-aligned'>Scheduler</th>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        "<p class='wb-note'>Only what this scenario sets, and not every scheduler reads. What is ignored counts as not "
        "there: an elastic job then runs at its usual size, a deadline hurries nobody.</p>"
    )


def job_table(found: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The differences job by job with heads for people; found: of `metrics.job_differences`, sorted as it is to be."""

    def time(seconds: float) -> str:
        return "not finished" if pd.isna(seconds) else format_duration(float(seconds), parts=2)

    return pd.DataFrame(
        {
            "Job": found["job"].astype("str"),
            f"JCT, {names[0]}": [time(value) for value in found["before_s"]],
            f"JCT, {names[1]}": [time(value) for value in found["after_s"]],
            "Difference": [
                "" if pd.isna(value) else ("+" if value > 0 else "") + time(value) for value in found["difference_s"]
            ],
            "Ratio": ["" if pd.isna(value) else f"{value:.2f}" for value in found["ratio"]],
            "Parts at": ["never" if pd.isna(value) else time(value) for value in found["diverged_s"]],
        }
    )
