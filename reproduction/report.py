"""All figures of all papers as one table, written to a folder."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from reproduction.figure import Figure, as_html
from reproduction.registry import Reproduction, reproductions, size_name
from workbench.base.errors import InputError
from workbench.base.files import new_folder, refuse_to_overwrite
from workbench.base.processes import in_processes
from workbench.base.text import for_spreadsheet

TABLE, PAGE = "reproduction.csv", "reproduction.html"

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font-family: sans-serif; margin: 2em }} table {{ border-collapse: collapse }}
td, th {{ padding: 0.3em 0.6em; border-bottom: 1px solid #ccc; text-align: left; vertical-align: top }}</style>
</head><body><h1>{title}</h1>{body}</body></html>
"""


class Done(NamedTuple):
    """A figure of a paper, and the seconds it took."""

    paper: str
    figure: Figure
    wall_s: float


def run_all(
    size: str | None = None,
    only: str | None = None,
    workers: int = 1,
    on_done: Callable[[Done], None] | None = None,
) -> list[Done]:
    """Every figure of every paper (or of the paper `only`) at a size, in order.

    workers: processes, one figure each at a time; the numbers do not depend on it, measured times apart.
    """
    name = size_name(size)
    papers = _chosen(only)
    tasks = [(paper.name, number, name) for paper in papers for number in range(len(paper.figures))]
    told = on_done or (lambda done: None)
    if workers > 1:
        return in_processes(_figure, tasks, workers, lambda _, done: told(done))
    found = []
    for task in tasks:
        found.append(_figure(task))
        told(found[-1])
    return found


def table(done: list[Done]) -> pd.DataFrame:
    """One table over all papers: `publication`, then the columns of a figure."""
    parts = [each.figure.table.assign(publication=each.paper) for each in done]
    whole = pd.concat(parts, ignore_index=True)
    return whole[["publication", *whole.columns.drop("publication")]]


def write(done: list[Done], folder: Path, size: str, *, force: bool = False) -> None:
    """Write the table as CSV and as a page with the charts, and the numbers behind each chart as CSV.

    The folder appears whole or not at all; raises InputError if it exists and is not empty, unless `force` and it is
    one of ours.
    """
    with new_folder(folder, lambda path: (path / TABLE).exists(), force=force) as made:
        for_spreadsheet(table(done)).to_csv(made / TABLE, index=False, lineterminator="\n")
        title = f"What the papers report and what we get (size {size})"
        figures = "".join(f"<h2>{html.escape(each.paper)}</h2>{each.figure._repr_html_()}" for each in done)
        (made / PAGE).write_text(_PAGE.format(title=title, body=as_html(table(done)) + figures), encoding="utf-8")
        for each in done:
            for letter, panel in each.figure.panels.items():
                name = f"{each.paper}-{each.figure.name}{letter}.csv".lower().replace(" ", "-").replace(".-", "-")
                for_spreadsheet(panel.frame).to_csv(made / name, index=False, lineterminator="\n")


def check(folder: Path, *, force: bool = False) -> None:
    """Raise InputError if `write` would refuse the folder: before the work, not after it."""
    refuse_to_overwrite(folder, force=force)
    if not folder.resolve().parent.is_dir():
        raise InputError("out", str(folder), "a folder inside one that exists")


def _chosen(only: str | None) -> list[Reproduction]:
    known = {paper.name: paper for paper in reproductions()}
    if only is not None and only not in known:
        raise InputError("paper", only, "one of " + ", ".join(known))
    return list(known.values()) if only is None else [known[only]]


def _figure(task: tuple[str, int, str]) -> Done:
    paper, number, size = task
    found = next(each for each in reproductions() if each.name == paper)
    began = time.perf_counter()
    figure = found.figures[number](found.sizes[size])
    return Done(found.title, figure, time.perf_counter() - began)
