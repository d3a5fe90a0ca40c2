"""The list of schedulers: the paper's own first, then all others, those written in the notebook included."""

from __future__ import annotations

import contextlib
import html
import weakref
from collections import Counter
from collections.abc import Callable, Collection
from functools import cache
from typing import Any

import ipywidgets as w

from workbench.scheduling.contract import Scheduler
from workbench.scheduling.declared_room import Room
from workbench.session.registry import find_scheduler, schedulers, skipped_rooms

NARROW = 30
"""So many letters a narrow list has room for."""


def titles(own: Collection[str] = ()) -> list[tuple[str, str]]:
    """Every scheduler's title and name, as a list offers them: those of `own` first, and together what several papers
    have by one name, as `gavel.fifo` and `fifo`. Two of one title, say of a cell that was copied, show their names."""
    found = sorted(schedulers(), key=lambda each: each.name not in own)
    used = Counter(each.title for each in found)
    known = [(f"{each.title} ({each.name})" if used[each.title] > 1 else each.title, each.name) for each in found]
    short = [name.rpartition(".")[2] for _, name in known]
    return sorted(known, key=lambda each: short.index(each[1].rpartition(".")[2]))


def short_titles() -> list[tuple[str, str]]:
    """The same for narrow lists: without what a title adds in brackets, or a long one after a comma, where the rest is
    its own; where only a paper's name tells it from another's rule, what is in the brackets comes first."""
    known = titles()
    heads = [title.partition(" (")[0] for title, _ in known]
    heads = [head if len(head) <= NARROW else head.partition(", ")[0] for head in heads]
    rules = [head.rpartition(": ")[2].casefold() for head in heads]

    def short(head: str, title: str, rule: str) -> str:
        if heads.count(head) > 1:
            return title
        return _told_apart(title) or head if rules.count(rule) > 1 and ": " not in head else head

    return [(short(head, title, rule), name) for head, rule, (title, name) in zip(heads, rules, known, strict=True)]


def _told_apart(title: str) -> str:
    """A title with the first of what it adds in brackets before it, where a closed list shows it; "" without any."""
    head, _, more = title.partition(" (")
    tells = more.rstrip(")").partition(",")[0]
    return f"{tells[0].upper()}{tells[1:]}: {head[0].lower()}{head[1:]}" if tells else ""


class SchedulerChoice:
    """A drop-down list of titles. changed: called when another one is chosen, or the chosen one was written anew.

    left_out: the rooms that cannot be used, with the reasons; empty if all can be.
    The list follows the registry: what a paper's room declares, or a cell of the notebook, stands in it by itself.
    """

    def __init__(self, room: Room, changed: Callable[[], None]) -> None:
        self._own = [found.name for found in room.schedulers]
        self._paper = f"{room.title}: "
        self._changed = changed
        self._quiet = False
        style = {"description_width": "6em"}
        self.widget = w.Dropdown(
            options=self._titles(), description="Scheduler", style=style, layout=w.Layout(width="97%")
        )
        self.widget.add_class("wb-scheduler")
        skipped = "; ".join(f"{name}: {reason}" for name, reason in skipped_rooms().items())
        self.left_out = w.HTML(f"<p>Rooms left out: {html.escape(skipped)}</p>" if skipped else "")
        self.left_out.layout.display = "" if skipped else "none"
        self.widget.observe(lambda _: self._on_choice(), "value")
        self._found = self.scheduler
        self._name_in_full()
        _CHOICES.add(self)
        _watch_cells()

    def _titles(self) -> list[tuple[str, str]]:
        """What is offered; the lab's title has the paper's name, so that its schedulers need not begin with it."""
        known = titles(self._own)
        taken = {title for title, _ in known}

        def short(title: str) -> str:
            rest = title.removeprefix(self._paper)
            rest = rest[:1].upper() + rest[1:]
            return title if rest in taken else rest

        offered = [short(title) for title, _ in known]
        heads = [title.partition(" (")[0] for title in offered]
        return [
            ((_told_apart(title) or title) if heads.count(head) > 1 else title, name)
            for title, head, (_, name) in zip(offered, heads, known, strict=True)
        ]

    @property
    def name(self) -> str:
        """The name of the scheduler that is chosen."""
        return str(self.widget.value)

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler that is chosen, as it was declared last."""
        return find_scheduler(self.name)

    @property
    def first(self) -> str:
        """The paper's first scheduler."""
        return self._own[0]

    def is_of_the_paper(self, name: str) -> bool:
        """Whether the paper's room has a scheduler of this name."""
        return name in self._own

    def choose(self, name: str) -> None:
        """Offer what there is by now, and choose one; `changed` is not called."""
        before, self._quiet = self._quiet, True
        try:
            offer = self._titles()
            if list(self.widget.options) != offer:
                self.widget.options = offer
            self.widget.value = name
        finally:
            self._quiet = before
        self._found = self.scheduler
        self._name_in_full()

    def refresh(self) -> None:
        """Offer the schedulers that were declared since."""
        again = self._found is not self.scheduler
        self.choose(self.name)
        if again:
            self._changed()

    def _on_choice(self) -> None:
        if not self._quiet:
            self._found = self.scheduler
            self._name_in_full()
            self._changed()

    def _name_in_full(self) -> None:
        """A long title may be cut in the list; hovering shows it."""
        self.widget.tooltip = f"{self._found.title} ({self.name})"


_CHOICES: weakref.WeakSet[SchedulerChoice] = weakref.WeakSet()


@cache
def _watch_cells() -> None:
    """After every cell the lists look for schedulers that it declared."""
    with contextlib.suppress(ImportError):
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
        if shell is not None:
            shell.events.register("post_run_cell", refresh_choices)


def refresh_choices(_: Any = None) -> None:
    """Bring every list up to date."""
    for choice in list(_CHOICES):
        choice.refresh()
