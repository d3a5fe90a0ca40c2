"""Save and Load: the scenario as a file beside the notebook, or as a download on a dashboard."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

import ipywidgets as w

from widgets.parts.button import button
from widgets.parts.files import LARGEST, MOST_BYTES, Download, Upload, on_dashboard
from widgets.parts.status_line import StatusLine
from workbench.base.errors import InputError, WorkbenchError
from workbench.scenario.scenario import Scenario

FILE = "scenario.json"
INSTEAD = "open a larger one in a notebook's code, or keep fewer of its jobs (workbench convert --sample)"
SHOWN = 300
"""Letters of what is wrong with a file that are shown: a file may say anything."""


class ScenarioFile:
    """The name of a file, Save, Load, and one line about what happened.

    content: the scenario to save, raises WorkbenchError while something is wrong; opened: told what was loaded, may
    raise WorkbenchError; wrong: such an error in the words of the panel.
    """

    def __init__(
        self,
        content: Callable[[], Scenario],
        opened: Callable[[Scenario], None],
        wrong: Callable[[WorkbenchError], str],
    ) -> None:
        self._content, self._opened, self._wrong = content, opened, wrong
        self._known: dict[Path, str] = {}
        self._asked: tuple[Path, str] | None = None
        self.name = w.Text(value=FILE, tooltip="Name of the file to save to")
        self.name.layout = w.Layout(width="auto", flex="1 1 7em", min_width="7em", max_width="11em")
        self.name.add_class("wb-file")
        hint = "Save scenario, scheduler and knobs to this file"
        self.save_button = button("Save", "save", self.save, hint, icon="save")
        self.replace_button = button("Replace", "replace", self.replace, icon="exclamation-triangle")
        self.replace_button.button_style, self.replace_button.layout = "warning", {"width": "8em", "display": "none"}
        hint = f"Open a scenario file, up to {LARGEST}"
        self.upload = Upload("Load", hint, self.load, self._refused, expected=INSTEAD, accept=".json")
        self.upload.add_class("wb-upload")
        self.said = StatusLine()
        self.said.add_class("wb-filed")
        self._download = Download() if on_dashboard() else None
        hidden = [self._download] if self._download is not None else []
        self.controls = [self.name, self.save_button, self.replace_button, self.upload, *hidden]
        self.name.observe(lambda _: self._ask(None), "value")

    def save(self) -> None:
        """Write the file; one that was saved or loaded here is replaced if nobody changed it since.

        Another file is replaced only when Replace is pressed, which is offered then. On a dashboard the browser gets
        the scenario instead.
        """
        path = Path(self.name.value.strip() or FILE).expanduser().absolute()
        path = path if path.suffix else path.with_suffix(".json")
        self._ask(None)
        try:
            scenario = self._content()
            if self._download is None:
                scenario.save(path, force=self._known.get(path) == _digest_of(path))
        except WorkbenchError as error:
            if isinstance(error, InputError) and error.where == str(path) and path.is_file():
                self._ask(path)
                text = f"{path} exists and is not from this lab; Replace overwrites it, another name keeps it"
            else:
                text = self._wrong(error)
            self.say(f"Not saved: {text}.", bad=True)
            return
        if self._download is not None:
            self._download.give(path.name, scenario.to_json().encode("utf-8"))
            self.say(f"Saved as a download, {path.name}.")
            return
        self._known[path] = _digest(scenario.to_json().encode("utf-8"))  # not read back: somebody may have written
        self.say(f"Saved to {path}.")

    def replace(self) -> None:
        """Overwrite the file that Save asked about, unless it changed after the question."""
        if self._asked is not None:
            path, digest = self._asked
            self._known[path] = digest
            self.save()

    def _ask(self, path: Path | None) -> None:
        """Offer to replace a file as it is now; None takes the offer back."""
        self._asked = None if path is None else (path, _digest_of(path))
        self.replace_button.layout.display = "none" if path is None else None
        self.replace_button.tooltip = "" if path is None else f"Overwrite {path.name} with what is set here"

    def load(self, files: Iterable[Mapping[str, Any]]) -> None:
        """Open a file that was chosen in the browser."""
        for found in list(files):
            name = str(found["name"])
            if found["content"].nbytes > MOST_BYTES:
                self.say(f"{name}: larger than {LARGEST}; {INSTEAD}", bad=True)
                continue
            content = bytes(found["content"])
            try:
                self._opened(Scenario.from_json(content.decode("utf-8"), name))
            except UnicodeDecodeError:
                self.say(f"{name}: not UTF-8 text; expected a scenario file", bad=True)
            except WorkbenchError as error:
                self.say(shorten(str(error).splitlines()[0], SHOWN, placeholder=" ..."), bad=True)
            else:
                self.name.value = name
                self._known[Path(name).absolute()] = _digest(content)
                self.say(f"Loaded {name}.")

    def _refused(self, name: str, why: str) -> None:
        """A file that the browser did not send."""
        self.say(f"{name}: {why}", bad=True)

    def say(self, text: str, bad: bool = False) -> None:
        """Show a line."""
        self.said.tone = "bad" if bad else "note"
        self.said.text = text


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digest_of(path: Path) -> str:
    """The digest of a file; empty if there is none."""
    return _digest(path.read_bytes()) if path.is_file() else ""
