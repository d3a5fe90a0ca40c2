"""Scenes of a lecture: the picture, one control, one number and a sentence fill the window, a step at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from widgets.lab.results import PAGES
from workbench.analysis.metrics.declared import METRICS
from workbench.base.errors import InputError, one_of
from workbench.scheduling.contract import Scheduler


@dataclass(frozen=True)
class Scene:
    """One step of a lecture, for `lab.scenes`.

    says: the sentence. page: what stands below the picture, one of a lab's five pages; at Schedule nothing does.
    control: the knob that can be moved, one of those in sight; "": none. number: the measure in large type, by its name
    in `workbench.summary` (`mean_jct_s`); "": none. knobs: what is set as it begins, on top of what the scenes before
    it set.
    """

    says: str
    page: str = PAGES[0]
    control: str = ""
    number: str = ""
    knobs: Mapping[str, Any] = field(default_factory=dict)


def check(scenes: Sequence[Scene], scheduler: Scheduler, controls: Sequence[str]) -> None:
    """Raises InputError for what is no scene, or names a page, a knob in sight, a measure or a value that is not there.

    scheduler: whose knobs are set; controls: the knobs in sight.
    """
    measures = [metric.name for metric in METRICS]
    for number, scene in enumerate(scenes, 1):
        where = f"scene {number}"
        if not isinstance(scene, Scene):
            raise InputError(where, scene, "widgets.Scene(says, page, control, number, knobs)")
        for what, name, known in (
            ("page", scene.page, PAGES),
            ("control", scene.control, ("", *controls)),
            ("number", scene.number, ("", *measures)),
        ):
            if name not in known:
                raise InputError(f"{where}, {what}", name, one_of(name, [each for each in known if each]))
        scheduler.settle(scene.knobs)
