"""The one thing that is changed, as controls: a kind, and what belongs to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as w

from widgets.editors.knob_panel import Control
from widgets.editors.scheduler_choice import short_titles
from widgets.editors.setting_history import QuietControls
from widgets.parts.one_in_sight import OneInSight
from workbench.analysis.what_if import (
    Change,
    DensityTo,
    FaultsTo,
    KnobTo,
    LoadTo,
    NodesBy,
    NodesWithout,
    OutageOf,
    RestartTo,
    SchedulerTo,
    SiteSettingTo,
    parse_change,
)
from workbench.analysis.what_if.site_changes import date_of
from workbench.base.errors import InputError
from workbench.base.units import format_duration
from workbench.scenario.scenario import Scenario
from workbench.session.registry import find_scheduler

STYLE = {"description_width": "7.5em"}
WIDE = {"width": "97%"}
MEANS = ("mtbf_s=", "mttr_s=")
SETTINGS = {"qos": "MaxTRESPU=gres/gpu=8", "partition": "PriorityTier=5", "account": "Share=5", "user": "Share=5"}
"""By what a site has, one to begin with."""
KINDS = (
    ("Nodes added or removed", NodesBy.kind),
    ("Nodes, racks, partitions gone", NodesWithout.kind),
    ("Nodes down for a time", OutageOf.kind),
    ("Scheduler", SchedulerTo.kind),
    ("A knob of today's scheduler", KnobTo.kind),
    ("A limit or weight of a Slurm site", SiteSettingTo.kind),
    ("Cost of a restart", RestartTo.kind),
    ("Load: arrivals closer together", LoadTo.kind),
    ("Density: more or fewer jobs", DensityTo.kind),
    ("Node failures", FaultsTo.kind),
)


class ChangeForm:
    """Controls for one change. changed: called when something else is set; knobs: those of today's scheduler now."""

    def __init__(self, changed: Callable[[], None], knobs: Callable[[], Mapping[str, Any]]) -> None:
        self._changed = changed
        self._knobs_today = knobs
        self._knob: Control | None = None
        self._quiet = QuietControls()
        self.kind = w.Dropdown(options=KINDS, description="Change", style=STYLE, layout=WIDE)
        self.kind.add_class("wb-change-kind")
        self.type = _field(w.Dropdown, "GPU type", "Of which type", options=[""])
        self.count = _field(w.IntText, "Nodes (+ or -)", "More nodes (8), or fewer (-2)", value=1)
        self.gpus = _field(w.IntText, "GPUs of each", "Of a new node; at first those of the type's first one", value=0)
        self.partitions = _field(w.Dropdown, "Partitions", "Of new nodes, or of those that go", options=[("", "")])
        self.scheduler = _field(w.Dropdown, "Scheduler", "Which takes the place of today's", options=short_titles())
        self.with_knobs = _field(w.Text, "With knobs", "Those that differ from its defaults: round_s=720", value="")
        self.knob_name = _field(w.Dropdown, "Knob", "Of today's scheduler", options=[""])
        self.knob_box, self._no_knob = OneInSight(), w.Box()
        self._controls: dict[tuple[str, str], Control] = {}
        self.restart = _field(w.Text, "Restart costs", "Seconds, or as 2 min", value="1 min")
        self.load = _field(w.FloatText, "Times as fast", "Every arrival is divided by it", value=1.25, step=0.05)
        self.density = _field(w.FloatText, "Jobs (%)", "Above 0, at most 200", value=120.0, step=10.0)
        self.mtbf = _field(w.Text, "Time to failure", "Mean, of each node, as 5 d; empty: no failures", value="5 d")
        self.mttr = _field(w.Text, "Time to repair", "Mean, as 2 h", value="2 h")
        self.outages = _field(
            w.Text, "Listed outages", "Node and from:to in seconds, as a-0=0:3600, a-1=60:120", value=""
        )
        self._texts = {
            kind.kind: _field(w.Textarea, label, f"As {kind.example}", value="", placeholder="", rows=2)
            for kind, label in ((NodesWithout, "Gone"), (OutageOf, "Down"), (SiteSettingTo, "Set"))
        }
        parts_of: dict[str, list[w.Widget]] = {
            **{kind: [text] for kind, text in self._texts.items()},
            NodesBy.kind: [self.type, self.count, self.gpus, self.partitions],
            SchedulerTo.kind: [self.scheduler, self.with_knobs],
            KnobTo.kind: [self.knob_name, self.knob_box],
            RestartTo.kind: [self.restart],
            LoadTo.kind: [self.load],
            DensityTo.kind: [self.density],
            FaultsTo.kind: [self.mtbf, self.mttr, self.outages],
        }
        self._rows, self._boxes = OneInSight(), {kind: w.VBox(parts) for kind, parts in parts_of.items()}
        self.box = w.VBox([self.kind, self._rows])
        self.type.observe(lambda _: self._on_type(), "value")  # before what is set is told
        for parts in parts_of.values():
            for part in parts:
                if part is not self.knob_box:
                    part.observe(lambda _: self._tell(), "value")
        self.knob_name.observe(lambda _: self._show_knob(), "value")
        self.count.observe(lambda _: self._on_count(), "value")
        self.kind.observe(lambda _: self._on_kind(), "value")
        with self._quiet():
            self._lay_out()

    def offer(self, scenario: Scenario, scheduler: str) -> None:
        """What there is to change: the cluster's types, and the scheduler's knobs."""
        with self._quiet():
            usual = self.gpus.value == self._first_gpus.get(str(self.type.value), 0)
            nodes = scenario.cluster.each_node
            self._first_gpus = {node.accelerator: node.gpus for node in reversed(nodes)}
            said = ((node.accelerator, str(node.attributes.get("partitions", ""))) for node in nodes)
            self._partitions_of = dict.fromkeys(said)
            _options(self.type, [a.name for a in scenario.cluster.accelerators])
            self._on_partitions()
            if usual:
                self._on_type()
            for kind, text in _examples(scenario).items():
                field = self._texts[kind]
                if field.value == field.placeholder:
                    field.value = text
                field.placeholder = text
            found = find_scheduler(scheduler)
            if self._knob_of != scheduler:
                self._knob_of = scheduler
                self.knob_name.options = [(knob.label, knob.name) for knob in found.knobs] or [("none", "")]
                self._show_knob()
            _options(self.scheduler, short_titles())

    _knob_of = ""
    _first_gpus: Mapping[str, int] = {}
    _partitions_of: Mapping[tuple[str, str], None] = {}

    def change(self) -> Change:
        """The change as it is set; raises InputError saying what is expected."""
        kind = str(self.kind.value)
        if kind == NodesBy.kind:
            count, gpus = int(self.count.value), int(self.gpus.value)
            usual = gpus in (0, self._first_gpus.get(str(self.type.value)))
            where = str(self.partitions.value or "")
            return NodesBy(str(self.type.value), count, None if usual or count < 0 else gpus, where)
        if kind == SchedulerTo.kind:
            return parse_change(f"{kind} {self.scheduler.value}, {self.with_knobs.value}".rstrip(", "))
        if kind == KnobTo.kind:
            if self._knob is None:
                raise InputError("knob", self._knob_of, "a scheduler with knobs")
            return KnobTo(str(self.knob_name.value), self._knob.value())
        if kind == RestartTo.kind:
            return parse_change(f"{kind} {self.restart.value or '?'}")
        if kind == LoadTo.kind:
            return LoadTo(float(self.load.value))
        if kind == DensityTo.kind:
            return DensityTo(float(self.density.value))
        if kind in self._texts:
            return parse_change(f"{kind} {' '.join(str(self._texts[kind].value).split()) or '?'}")
        mtbf, mttr = str(self.mtbf.value).strip(), str(self.mttr.value).strip()
        means = f"mtbf_s={mtbf}, mttr_s={mttr}" if mtbf else ""
        return parse_change(f"{kind} {', '.join(filter(None, [means, str(self.outages.value).strip()])) or 'none'}")

    def show(self, change: Change) -> None:
        """Put a change into the controls; raises InputError for one that they cannot show."""
        with self._quiet():
            if change.kind in self._boxes:
                self.kind.value = change.kind
            if isinstance(change, NodesBy):
                self.type.value, self.count.value = change.accelerator, change.count
                self.gpus.value = change.gpus or self._first_gpus.get(change.accelerator, 0)
                self._on_partitions(change.partitions)
            elif isinstance(change, SchedulerTo):
                self.scheduler.value = change.scheduler
                self.with_knobs.value = change.text.partition(",")[2].strip()
            elif isinstance(change, KnobTo):
                self.knob_name.value = change.name
                knob = next(knob for knob in find_scheduler(self._knob_of).knobs if knob.name == change.name)
                assert self._knob is not None
                self._knob.set(knob.check(change.value))
            elif change.kind in self._texts:
                self._texts[change.kind].value = change.text.partition(" ")[2]
            elif isinstance(change, RestartTo):
                self.restart.value = change.text.partition(" ")[2]
            elif isinstance(change, LoadTo):
                self.load.value = change.factor
            elif isinstance(change, DensityTo) and not change.seed:
                self.density.value = change.percent
            elif isinstance(change, FaultsTo):
                parts = [part for part in change.text.partition(" ")[2].split(", ") if "=" in part]
                means = dict(part.split("=") for part in parts if part.startswith(MEANS))
                self.mtbf.value, self.mttr.value = means.get("mtbf_s", ""), means.get("mttr_s", "")
                self.outages.value = ", ".join(part for part in parts if not part.startswith(MEANS))
            else:
                raise InputError(
                    "change", change.text, "one that the panel has controls for (workbench.what_if does it)"
                )
        self._tell()

    def _show_knob(self) -> None:
        """The control of the knob that is chosen, set to what it is today."""
        name = str(self.knob_name.value or "")
        knob = next((knob for knob in find_scheduler(self._knob_of).knobs if knob.name == name), None)
        key = self._knob_of, name
        if knob is not None and key not in self._controls:
            self._controls[key] = Control(knob, lambda _: self._tell())
        self._knob = self._controls.get(key)
        if knob is not None and self._knob is not None:
            self._knob.set(self._knobs_today().get(name, knob.default))
        self.knob_box.show(self._no_knob if self._knob is None else self._knob.box)

    def _on_type(self) -> None:
        """A new node has as many GPUs as the first one of the type, and is in its partitions."""
        with self._quiet():
            self.gpus.value = self._first_gpus.get(str(self.type.value), 0)
            self._on_partitions()

    def _on_partitions(self, chosen: str = "") -> None:
        """Those of the type's nodes to choose from, first as its first node has them; not in sight where none are."""
        found = [name for kind, name in self._partitions_of if kind == self.type.value and name]
        others = [name for name in dict.fromkeys([*found[1:], chosen]) if name]
        self.partitions.options = [
            (found[0].replace(",", ", ") if found else "", ""),
            *((n.replace(",", ", "), n) for n in others),
        ]
        self.partitions.value = chosen
        self.partitions.layout.display = None if found or chosen else "none"

    def _on_count(self) -> None:
        """Nodes that go have the GPUs they have."""
        self.gpus.disabled = self.count.value < 0

    def _on_kind(self) -> None:
        if self.kind.value == KnobTo.kind:
            with self._quiet():
                self._show_knob()  # today's may have changed
        self._lay_out()

    def _lay_out(self) -> None:
        self._rows.show(self._boxes[str(self.kind.value)])
        self._tell()

    def _tell(self) -> None:
        if not self._quiet:
            self._changed()


def _examples(scenario: Scenario) -> dict[str, str]:
    """Of changes that are written as text, one of this scenario each, to begin with; empty where it has none."""
    nodes, recorded = scenario.cluster.each_node, scenario.recorded
    ((usual, _),) = Counter(node.accelerator for node in nodes).most_common(1)
    name = next(node.name for node in nodes if node.accelerator == usual)
    last_s = recorded.end_s if recorded else max((job.arrival_s for job in scenario.jobs), default=0.0)
    begin, end = (date_of(scenario, at_s) or format_duration(at_s) for at_s in (last_s / 4 // 60 * 60, last_s / 2 + 60))
    of = {str(each.attributes.get("kind")): each.name for each in reversed(scenario.entities)}
    limit = next((f"{of[kind]} {setting}" for kind, setting in SETTINGS.items() if kind in of), "")
    gone = name if len(nodes) > 1 else ""
    return {NodesWithout.kind: gone, OutageOf.kind: f"{name} from {begin} to {end}", SiteSettingTo.kind: limit}


def _options(choice: Any, options: list[Any]) -> None:
    """Offer these; the choice stays while it is there."""
    if list(choice.options) != options:
        before = choice.value
        choice.options = options
        values = [option[1] if isinstance(option, tuple) else option for option in options]
        if before in values:
            choice.value = before


def _field(kind: Any, label: str, tooltip: str, **more: Any) -> Any:
    made = kind(description=label, tooltip=tooltip, style=STYLE, layout=WIDE, **more)
    made.add_class(f"wb-change-{label.split()[0].lower()}")
    return made
