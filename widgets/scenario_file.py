"""Save and Load: the scenario as a file beside the notebook, or as a download on a dashboard."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import ipywidgets as w

from widgets.download import Download, on_dashboard
from widgets.solve_bar import StatusLine
from workbench.errors import InputError, WorkbenchError
from workbench.scenario import Scenario

FILE = "scenario.json"


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
        self.name = w.Text(value=FILE, layout=w.Layout(width="11em"), tooltip="Name of the file to save to")
        self.name.add_class("wb-file")
        self.save_button = w.Button(description="Save", icon="save", layout=w.Layout(width="7em"))
        self.save_button.tooltip = "Save scenario, scheduler and knobs to this file"
        self.save_button.add_class("wb-save")
        self.save_button.on_click(lambda _: self.save())
        self.upload = w.FileUpload(accept=".json", description="Load", multiple=False, tooltip="Open a scenario file")
        self.upload.layout.width = "91px"
        self.upload.add_class("wb-upload")
        self.upload.observe(lambda change: self.load(change["new"]), "value")
        self.said = StatusLine()
        self.said.add_class("wb-filed")
        self._download = Download() if on_dashboard() else None
        hidden = [self._download] if self._download is not None else []
        self.controls = [self.name, self.save_button, self.upload, *hidden]

    def save(self) -> None:
        """Write the file; one that was saved or loaded here is replaced if nobody changed it since.

        On a dashboard the browser gets it instead.
        """
        path = Path(self.name.value.strip() or FILE).expanduser().absolute()
        path = path if path.suffix else path.with_suffix(".json")
        try:
            scenario = self._content()
            if self._download is None:
                scenario.save(path, force=self._known.get(path) == _digest_of(path))
        except InputError as error:
            taken = error.where == str(path) and path.exists()
            text = f"{path} exists and is not from this lab; type another name" if taken else self._wrong(error)
            self.say(f"Not saved: {text}.", bad=True)
            return
        if self._download is not None:
            self._download.give(path.name, scenario.to_json().encode("utf-8"))
            self.say(f"Saved as a download, {path.name}.")
            return
        self._known[path] = _digest_of(path)
        self.say(f"Saved to {path}.")

    def load(self, files: Iterable[Mapping[str, Any]]) -> None:
        """Open a file that was chosen in the browser."""
        for found in list(files):
            content, name = bytes(found["content"]), str(found["name"])
            try:
                self._opened(Scenario.from_json(content.decode("utf-8"), name))
            except UnicodeDecodeError:
                self.say(f"{name}: not UTF-8 text; expected a scenario file", bad=True)
            except WorkbenchError as error:
                self.say(str(error).splitlines()[0], bad=True)
            else:
                self.name.value = name
                self._known[Path(name).absolute()] = _digest(content)
                self.say(f"Loaded {name}.")
        if files:
            self.upload.value = ()  # the same file may be loaded again

    def say(self, text: str, bad: bool = False) -> None:
        """Show a line."""
        self.said.tone = "bad" if bad else "note"
        self.said.text = text


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digest_of(path: Path) -> str:
    """The digest of a file; empty if there is none."""
    return _digest(path.read_bytes()) if path.is_file() else ""
