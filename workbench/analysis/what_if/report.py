"""One page about a what-if that can be mailed (`workbench.analysis.page`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.analysis import page
from workbench.analysis.calibration.note import notes_under
from workbench.analysis.run_report import cluster_table, notes_of, what_was_run
from workbench.analysis.what_if import pictures
from workbench.analysis.what_if.tables import each_difference
from workbench.analysis.what_if.words import WAIT_HEADS, compared, heads, trusted, waited
from workbench.base.errors import counted
from workbench.base.rounding import short_number

if TYPE_CHECKING:
    from workbench.analysis.what_if.ask import WhatIf
    from workbench.analysis.what_if.marginal import MarginalValue, MarginalValues


def what_if_report(found: WhatIf, values: MarginalValues | None = None) -> str:
    """The page about a what-if: what follows in sentences, the paired table, charts; values: what to buy next."""
    today = found.question.today
    name = today.scenario.name or "a scenario without a name"
    head = f"What if: {'; '.join(change.words for change in found.question.changes)}"
    question = found.question
    belief = found.runs[0][0].belief
    facts = what_was_run(
        today.scenario, today.scheduler, today.knobs, question.seeds, belief=belief, until_s=question.until_s
    )
    parts = [
        what_if_fragment(found),
        page.two_columns(
            page.section("Today", page.facts(facts)),
            page.section("Cluster today", cluster_table(today.scenario.cluster)),
        ),
    ]
    if values is not None:
        parts.append(page.section("What to buy next", f"<p>{page.escaped(values.words)}</p>{values_table(values)}"))
    parts += [notes_of(notes_under(found.runs[0][0])), page.foot("")]
    return page.whole(head, f"{today.scheduler} on {name}, today and with the change", parts)


def what_if_fragment(found: WhatIf) -> str:
    """The answer of a what-if as a part of a page: sentences, paired table, charts."""
    first, *others = [
        page.figure(pictures.by_job(found, change.text), page.HALF_PX) for change in found.question.changes
    ]
    drawn = page.two_columns(page.figure(pictures.measures(found), page.HALF_PX - 60.0), first)
    rest = [page.two_columns(*pair) for pair in zip(others[::2], [*others[1::2], ""], strict=False)]
    follows = page.section("What follows", page.points(found.conclusions))
    return "".join([follows, paired_table(found), wait_tables(found), drawn, *rest])


def paired_table(found: WhatIf) -> str:
    """Before, after, difference and interval of every measure; one table for each change."""
    columns = heads(found.question.level)
    parts = []
    for number, change in enumerate(found.question.changes):
        rows = each_difference(found.differences[found.differences["change"] == change.text])
        title = f"With {change.words}: {counted(len(found.question.seeds), 'pair')} of runs{trusted(found, number)}"
        parts.append(page.section(title, page.table(columns, map(compared, rows), right=range(1, 5))))
    return "".join(parts)


def wait_tables(found: WhatIf) -> str:
    """Waits by partition and user; nothing for one group of jobs alone."""
    parts = []
    for number, change in enumerate(found.question.changes):
        if rows := waited(found, change):
            table = page.table(WAIT_HEADS, rows, right=range(1, len(WAIT_HEADS)))
            parts.append(page.section(f"Waits, with {change.words}{trusted(found, number)}", table))
    return "".join(parts)


def values_table(values: MarginalValues) -> str:
    """What one more in the row of each type is worth."""
    unit = "" if values.unit == "1" else f" ({values.unit})"
    columns = ["Type", "GPUs", "USD/h", f"Dual{unit}", f"One more in the row{unit}", "Per USD/h", "Note"]
    rows = [_valued(row) for row in values.values]
    return page.table(columns, rows, right=range(1, len(columns) - 1))


def _valued(row: MarginalValue) -> tuple[str, ...]:
    each = [short_number(value, 4) for value in (row.price_per_hour, row.dual, row.one_more, row.one_more_per_usd)]
    return row.accelerator, str(row.gpus), *each, row.note
