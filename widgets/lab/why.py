"""What the page Why says, as HTML: a bold sentence, a small picture of the time around, links, and folded the rest."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import pandas as pd

from widgets.lab.words import MEANT, decisive_html, hinted
from widgets.parts.html_table import html_table
from workbench.analysis.chain import Chain
from workbench.analysis.charts import theme
from workbench.analysis.explanation import Explanation
from workbench.analysis.one_decision import OneDecision
from workbench.base.rounding import short_number
from workbench.base.units import clock
from workbench.simulation.job_at_time import Link
from workbench.simulation.run import Run


class Piece(NamedTuple):
    """A stretch of a small picture. what: said on hover, and in it if it fits; besides: more colours, at its foot."""

    start_s: float
    end_s: float
    what: str
    colour: str
    besides: tuple[str, ...] = ()


def page_of(explanation: Explanation, run: Run, decisive: str = "", within_s: tuple[float, float] | None = None) -> str:
    """A job at a time, with which row is decisive for it, if that was asked.

    within_s: begin and end of its line of time, in seconds; None: from its arrival to its end.
    """
    parts = [
        _said(explanation.summary, run, _missed(run, explanation)),
        decisive_html(decisive, scheduler=run.scheduler) if decisive else "",
        _life(run, explanation.job, explanation.at_s, within_s),
    ]
    more = "".join(f"<p>{hinted(sentence, run.scheduler)}</p>" for sentence in explanation.sentences)
    parts.append(_folded("More", more))
    if explanation.competitors:
        table = html_table(explanation.shown_competitors(), scrolls=False) + html.escape(explanation.about_values())
        parts.append(_folded(explanation.about_competitors().rstrip(":"), table))
    parts.append(_folded("The numbers then", _numbers(explanation.facts_table())))
    return "".join(parts)


def page_of_gpu(chain: Chain, run: Run, rows: str = "") -> str:
    """A GPU at a time, link by link. rows: said in the place of the link `rows`, which comes first, if it has none."""
    tried = rows and all(link.step != "rows" for link in chain.links)
    links = [Link("rows", f"{rows}."), *chain.links] if tried else chain.links
    parts = [_said(chain.summary, run), _strip(*_of_gpu(run, chain.gpu), chain.at_s, bare="idle"), _links(links, run)]
    asked = "" if chain.job else " class='wb-otherwise'"  # of an idle GPU the page's question has the same answer
    page = "".join([*parts, f"<p{asked}>{html.escape(chain.otherwise)}</p>" if chain.otherwise else ""])
    return f"<div class='wb-tried'>{page}</div>" if rows else page


def page_of_decision(decision: OneDecision, run: Run) -> str:
    """A decision, step by step, with who has which GPU until the next one."""
    gpus = [f"{node.name}/{slot}" for node in run.scenario.cluster.each_node for slot in range(node.gpus)]
    before_s = float(run.decisions["time_s"][run.decisions["time_s"] < decision.at_s].max())
    start_s = decision.at_s if math.isnan(before_s) else before_s
    end_s = max(decision.until_s, decision.at_s)
    strips = [_strip(_of_gpu(run, gpu)[0], start_s, end_s, decision.at_s, gpu) for gpu in gpus[:MOST_STRIPS]]
    return "".join([_said(decision.summary, run), *strips, _links(decision.links, run)])


def _missed(run: Run, explanation: Explanation) -> str:
    """By how much a job misses its first deadline, with its verdict; empty where it does not, and until it comes."""
    job, at_s = explanation.job, explanation.at_s
    row = run.jobs[run.jobs["job"] == job].iloc[0]
    rewards = next(each.rewards for each in run.scenario.jobs if each.name == job) or ()
    due_s = row["arrival_s"] + (rewards[0][0] if rewards else math.inf)
    if at_s < row["arrival_s"] or run.end_s < due_s or row["finish_s"] <= due_s:
        return ""
    late_s = row["finish_s"] - due_s
    due, ordinal = clock(due_s), "first " if len(rewards) > 1 else ""
    how = "never done" if math.isnan(late_s) else f"{clock(late_s)} late"
    promised = f", with the verdict {row['verdict'].replace('_', ' ')} (why: below)" if row["verdict"] else ""
    missed, was = ("missed", "was") if at_s >= due_s else ("will miss", "will be")
    return f"{job} {missed} its {ordinal}deadline of {due}: it {was} {how}{promised}. "


def _said(summary: str, run: Run, lead: str = "") -> str:
    """The first sentence is bold, and `lead` before it."""
    first, stop, rest = summary.partition(". ")
    more = f" {hinted(rest, run.scheduler)}" if rest else ""
    return f"<p><b>{hinted(lead + first + stop.rstrip(), run.scheduler)}</b>{more}</p>"


def _links(links: Iterable[Link], run: Run) -> str:
    """Links one below the other."""
    shown = "".join(f"<li>{_link(link, run)}</li>" for link in links)
    return f"<ol class='wb-links'>{shown}</ol>" if shown else ""


def _link(link: Link, run: Run) -> str:
    """A link's sentence; its numbers folded."""
    step = link.step[:1].upper() + link.step[1:]
    begins = re.match(rf"{re.escape(step)}\w*", link.text)
    head, rest = (begins[0], link.text[begins.end() :]) if begins else (step, f": {link.text}")
    said = f"<b>{html.escape(head)}</b>{hinted(rest, run.scheduler)}"
    if not link.facts:
        return said
    rows = [(name, value if isinstance(value, str) else short_number(value), unit) for name, value, unit in link.facts]
    return said + _folded("Numbers", _numbers(pd.DataFrame(rows, columns=["Number", "Is", "Unit"])))


def _numbers(facts: pd.DataFrame) -> str:
    """A table of numbers, with what words of the papers in a row mean on hover."""
    words = (re.findall(r"\w+", f"{first} {unit}") for first, unit in zip(facts.iloc[:, 0], facts["Unit"], strict=True))
    hints = [next((MEANT[word] for word in row if word in MEANT), "") for row in words]
    return html_table(facts, scrolls=False, hints=hints)


def _folded(title: str, inside: str) -> str:
    return f"<details><summary>{html.escape(title)}</summary>{inside}</details>"


# The small picture -------------------------------------------------------------------------------------------------


def lived_s(run: Run, job: str) -> tuple[float, float]:
    """When a job came and when it was done, or else the run's end, in seconds."""
    row = run.jobs[run.jobs["job"] == job].iloc[0]
    return float(row["arrival_s"]), run.end_s if math.isnan(row["finish_s"]) else float(row["finish_s"])


def _life(run: Run, job: str, at_s: float, within_s: tuple[float, float] | None) -> str:
    """What a job had, on its own line of time or on one that begins and ends elsewhere, with a key of the types."""
    came_s, over_s = lived_s(run, job)
    start_s, end_s = within_s or (came_s, over_s)
    line = run.timeline[run.timeline["kind"] != "sync"]
    held = line[(line["job"] == job) | (line["with_job"] == job)]
    colours = theme.type_colours(run.scenario.cluster.types)
    done = "end of the run" if math.isnan(run.jobs.set_index("job")["finish_s"][job]) else "done"
    around = Piece(start_s, came_s, "not there yet", theme.PAPER), Piece(over_s, end_s, done, theme.PAPER)
    pieces = [*_of_types(held, colours), *around]
    key = {kind: colour for kind, colour in colours.items() if kind in set(held["accelerator"])}
    return _strip(pieces, start_s, end_s, at_s, key=key)


def _of_types(held: pd.DataFrame, by_type: Mapping[str, str]) -> list[Piece]:
    """What a job had, by type; held: its rows of the timeline."""
    changes: dict[float, Counter[str]] = {}
    for start, stop, kind in held[["start_s", "end_s", "accelerator"]].itertuples(index=False, name=None):
        changes.setdefault(start, Counter())[kind] += 1
        changes.setdefault(stop, Counter())[kind] -= 1
    found, now = [], Counter[str]()
    for (start, change), stop in zip(sorted(changes.items()), [*sorted(changes), math.inf][1:], strict=True):
        now.update(change)
        has = {kind: count for kind, count in now.most_common() if count > 0}
        if has and stop - start > 1e-6:
            what = ", ".join(f"{kind} × {count}" for kind, count in has.items())
            first, *others = (by_type[kind] for kind in has)
            found.append(Piece(start, stop, what, first, tuple(others)))
    return _joined(found)


def _of_gpu(run: Run, gpu: str) -> tuple[list[Piece], float, float]:
    """Who had a GPU in the run."""
    node, _, slot = gpu.rpartition("/")
    line = run.timeline[(run.timeline["node"] == node) & (run.timeline["slot"] == int(slot))].sort_values("start_s")
    by_job = theme.job_colours(run.jobs["job"])
    found = [
        Piece(start, end, unit or "down", by_job.get(job, theme.WARN))
        for start, end, unit, job in line[["start_s", "end_s", "unit", "job"]].itertuples(index=False, name=None)
    ]
    return _joined(found), 0.0, run.end_s


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbours that say the same are one."""
    found: list[Piece] = []
    for piece in pieces:
        if found and found[-1].what == piece.what and abs(found[-1].end_s - piece.start_s) < 1e-6:
            found[-1] = found[-1]._replace(end_s=piece.end_s)
        else:
            found.append(piece)
    return found


NARROW_PX = 480.0
"""A line of time is at least so wide: what has no room then is said on hover only."""
MOST_PIECES = 300
"""More are not drawn: a job of a long run may have thousands."""
MOST_STRIPS = 8
"""GPUs of a decision that are drawn."""


def _strip(
    pieces: Sequence[Piece],
    start_s: float,
    end_s: float,
    at_s: float,
    name: str = "",
    bare: str = "no GPUs",
    key: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """A line of time with what was had in it, and where the question is; name: of one of several; bare: what is said
    of the rest; key: the colours that are named below it."""
    pieces = [piece for piece in pieces if piece.end_s > start_s and piece.start_s < end_s]
    if end_s <= start_s or len(pieces) > MOST_PIECES:
        return ""

    def share(time_s: float) -> str:
        return f"{100 * min(max((time_s - start_s) / (end_s - start_s), 0.0), 1.0):.3f}%"

    def drawn(piece: Piece) -> str:
        said = f"{piece.what}, {clock(piece.start_s)} to {clock(piece.end_s)}"
        part = (min(piece.end_s, end_s) - max(piece.start_s, start_s)) / (end_s - start_s)
        width, fits = f"{100 * part:.3f}%", theme.text_px(piece.what) <= NARROW_PX * part
        text, title = html.escape(piece.what) if fits else "", html.escape(said, quote=True)
        place = f"left:{share(piece.start_s)};width:{width}"
        edges = ",".join(f"inset 0 -{4 * n}px {colour}" for n, colour in enumerate(piece.besides, start=1))
        look = f"background:{piece.colour};color:{theme.text_on(piece.colour)};box-shadow:{edges or 'none'}"
        return f"<span style='{place};{look}' title='{title}'>{text}</span>"

    covered_s = sum(min(piece.end_s, end_s) - max(piece.start_s, start_s) for piece in pieces)
    named = [f"<i style='background:{colour}'></i> {html.escape(kind)}" for kind, colour in key.items()]
    named += [f"hatched: {bare}"] if covered_s < end_s - start_s - 1e-6 else []
    rest = f"<small>{', '.join(named)}</small>" if named else ""
    now = f"<i style='left:{share(at_s)}' title='{html.escape(clock(at_s))}'></i>"
    words = "; ".join(f"{piece.what} from {clock(piece.start_s)}" for piece in pieces[:8])
    label = html.escape(words or "nobody had it", quote=True)
    strip = f"<div class='wb-strip' role='img' aria-label='{label}'>{''.join(map(drawn, pieces))}{now}</div>"
    ends = html.escape(name) if name else f"{clock(start_s)}</small>{rest}<small>{clock(end_s)}"
    return f"{strip}<div class='wb-strip-ends'><small>{ends}</small></div>"
