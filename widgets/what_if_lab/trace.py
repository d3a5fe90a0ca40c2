"""A trace of one's own, with the cluster it is to run on."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import ipywidgets as w

from widgets.parts.button import button
from widgets.parts.files import LARGEST, MOST_BYTES, Upload
from widgets.parts.status_line import StatusLine
from widgets.work.page_request import PageRequest
from widgets.work.workplace import Message
from workbench.base.errors import NOTHING, InputError, Words, WorkbenchError, counted
from workbench.base.files import write_bytes
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import formats, parse_cluster

FORMAT = "sacct"
"""The first that is offered: Slurm is the scheduler of most clusters."""
OF_SLURM = "slurm"
"""Who scheduled such a log, and so today's."""
INSTEAD = "workbench convert makes a scenario file of a larger one"
NEEDS_THROUGHPUTS = ". Choose that file with Throughputs, then open the trace again"
CLUSTER = "v100=8x4, k80=4x8, for example"
AS_TOLD = "empty: as the log and its files say"
SITE = (
    "Files of one Slurm log together: what sacct printed, and scontrol show nodes (or sinfo), partitions, config; "
    "sacctmgr -P show assoc, qos, event; sshare"
)
STYLE = {"description_width": "6.5em"}
WIDE = {"width": "97%"}


class TraceChoice:
    """Controls that end in a scenario; whatever is wrong with a file is told here and changes nothing.

    opened: told the scenario, and the scheduler that made the log, where that is known.
    """

    def __init__(self, opened: Callable[[Scenario, str | None], None]) -> None:
        self._opened = opened
        self._throughputs: tuple[str, bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._asked = ""
        self._reading = PageRequest(self._hear)
        self.format = w.Dropdown(options=sorted(formats()), value=FORMAT, description="A trace of", style=STYLE)
        self.format.layout = w.Layout(flex="1 1 0")
        self.format.tooltip = "Format of the file; Load above opens a scenario file of the workbench"
        self.format.add_class("wb-trace-format")
        self.format.observe(lambda _: self._on_format(), "value")
        hint = f"Open the file, up to {LARGEST}; workbench convert reads larger ones. {SITE}"
        self.upload = self._button("Open", hint, self.open, several=True)
        self.cluster = w.Text(value="", placeholder=AS_TOLD, description="Cluster", style=STYLE, layout=WIDE)
        self.cluster.tooltip = "Types as NAME=NODESxGPUS: v100=8x4 is 8 nodes of 4 V100, as the trace names them"
        self.cluster.add_class("wb-trace-cluster")
        self.sample = w.Text(value="", placeholder="all", description="Jobs kept", style=STYLE)
        self.sample.layout = w.Layout(flex="1 1 0", width="auto", min_width="0")
        self.sample.tooltip = "How many jobs to keep, drawn with seed 0; empty: all"
        hint = "The file of throughputs that belongs to the trace, where its format has one"
        self.throughputs = self._button("Throughputs", hint, self._on_throughputs)
        stop, hint = lambda: self._reading.cancel(), "Stop reading the file"
        self.stop = button("Cancel", "trace-cancel", stop, hint, icon="stop")
        self.stop.layout = {"width": "7em", "flex": "0 0 auto", "display": "none"}
        self.said = StatusLine()
        self.said.add_class("wb-trace-said")
        rows = [w.HBox([self.format, self.upload]), w.HBox([self.sample, self.throughputs])]
        for row in rows:
            row.add_class("wb-trace-row")
        self.box = w.VBox([rows[0], self.cluster, rows[1], w.HBox([self.said, self.stop])])

    def open(self, files: Iterable[Mapping[str, Any]]) -> None:
        """Read what was chosen in the browser: a file, or a log of Slurm with files of its site."""
        given = {Path(str(found["name"])).name: found["content"] for found in files}
        try:
            request = self._request(given)
        except WorkbenchError as error:
            self.say(str(error.problem), bad=True)
            return
        self.say(f"Reading {next(iter(given)) if len(given) == 1 else counted(len(given), 'file')} ...")
        self.stop.layout.display = None
        self._reading.ask(request)

    def say(self, text: str, bad: bool = False) -> None:
        """Show a line."""
        with self.said.hold_sync():
            self.said.tone, self.said.text = "bad" if bad else "note", text

    def _on_throughputs(self, files: Iterable[Mapping[str, Any]]) -> None:
        for found in list(files):
            name = Path(str(found["name"])).name
            try:
                self._throughputs = name, _read(name, found["content"])
            except InputError as error:
                self.say(str(error.problem), bad=True)
                continue
            self.say(f"Throughputs: {name}. Now open the trace.")

    def _button(
        self, label: str, hint: str, take: Callable[[Iterable[Mapping[str, Any]]], None], several: bool = False
    ) -> Upload:
        """Takes files; what is too large for a page is told of here."""

        def refused(name: str, why: str) -> None:
            self.say(f"{name}: {why}", bad=True)

        made = Upload(label, hint, take, refused, expected=INSTEAD, several=several)
        made.add_class(f"wb-upload-{label.lower()}")
        return made

    def _on_format(self) -> None:
        """Another format: its file of throughputs belongs to one, and most have none; sacct's says its cluster."""
        self.cluster.placeholder = AS_TOLD if self.format.value == FORMAT else CLUSTER
        if self._throughputs is not None:
            self.say(f"No longer with the throughputs of {self._throughputs[0]}.")
            self._throughputs = None

    def _request(self, files: Mapping[str, Any]) -> Message:
        """What the labs' process is asked of files by name; raises WorkbenchError for what cannot be."""
        contents = {name: _read(name, uploaded) for name, uploaded in files.items()}
        types, of_slurm = str(self.cluster.value).strip(), self.format.value == FORMAT
        if len(files) > 1 and not of_slurm:
            raise InputError("Open", Words(f"{len(files)} files"), f"one: only a log of {FORMAT} has others beside it")
        if not types and not of_slurm:
            raise InputError("Cluster", NOTHING, "which GPUs the cluster has, as v100=8x4 (8 nodes of 4 V100)")
        cluster, sample = parse_cluster(types) if types else None, self._sample()
        if self._folder is not None:
            self._reading.drop()
            self._folder.cleanup()
        self._folder, table = tempfile.TemporaryDirectory(), None
        paths = [Path(self._folder.name, name) for name in contents]
        for path in paths:
            write_bytes(path, contents[path.name])
        if self._throughputs is not None:
            table = Path(self._folder.name, f"throughputs-{self._throughputs[0]}")
            write_bytes(table, self._throughputs[1])
        self._asked = str(self.format.value)
        return {
            "kind": "convert",
            "format": self._asked,
            "paths": [str(path) for path in paths],
            "throughputs": None if table is None else str(table),
            "cluster": cluster,
            "sample": sample,
        }

    def _hear(self, answer: Message | WorkbenchError | None) -> None:
        assert self._folder is not None
        self.stop.layout.display = "none"
        folder = f"{self._folder.name}/"
        self._folder.cleanup()
        if answer is None:
            self.say("Cancelled: what was open stays.")
        elif isinstance(answer, WorkbenchError):
            where_to = NEEDS_THROUGHPUTS if answer.where == "throughputs" and answer.value is None else ""
            self.say(str(answer.problem).replace(folder, "") + where_to, bad=True)
        else:
            name = str(answer["name"])
            scheduler = OF_SLURM if self._asked == FORMAT else None
            self._opened(Scenario.from_dict(answer["scenario"], name).replace(name=name), scheduler)
            self.say(f"Opened {name}: {_kept(answer['report'])}")

    def _sample(self) -> int | None:
        text = str(self.sample.value).strip()
        if not text or text == "all":
            return None
        if not text.isdecimal() or int(text) < 1:
            raise InputError("jobs kept", text, "a whole number from 1, or nothing for all")
        return int(text)


def _read(name: str, content: Any) -> bytes:
    """The bytes of an upload; raises InputError, without reading it, for one that is too large."""
    size = memoryview(content).nbytes
    if size > MOST_BYTES:
        expected = f"at most {LARGEST} here; {INSTEAD}"
        raise InputError(name, Words(f"{size / 1e6:.1f} MB"), expected)
    return bytes(content)


def _kept(report: Mapping[str, Any]) -> str:
    """How many rows became jobs, and why the others did not; report: of a
    `workbench.scenario.traces.ConversionSummary`."""
    said = f"{report['rows_kept']} of {counted(report['rows_read'], 'row')} kept"
    return ". ".join([said, *(f"{each['count']} left out: {each['reason']}" for each in report["dropped"])]) + "."
