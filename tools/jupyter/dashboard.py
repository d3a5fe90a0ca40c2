"""The dashboard: Voila with an index of the labs, a limit on kernels, and a token unless only this machine can connect.

tools/serve dashboard [--ip=0.0.0.0] [--port=8866] [--token=WORD] [--kernels=8] [--idle=SECONDS] FOLDER
"""

from __future__ import annotations

import ipaddress
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from jinja2 import ChoiceLoader, FileSystemLoader
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from tornado import web
from traitlets import Integer
from voila.app import Voila
from voila.handler import BaseVoilaHandler

LOGIN = Path(__file__).parent / "login"
CITED = re.compile(r"\band others\b|\b(?:19|20)\d\d\b")
"""A sentence that names a paper, which the index passes over."""


class Card(NamedTuple):
    """What the index says of a notebook. kind: `lab` if it opens one, else `page`."""

    path: str
    title: str
    sentence: str
    kind: str


class Kernels(AsyncMappingKernelManager):
    """The kernels of the dashboard's visitors: no more at a time than the machine bears."""

    most_kernels = Integer(8, min=1, config=True, help="Pages that may be open at a time.")
    _starting = 0

    async def start_kernel(self, **options: Any) -> str:
        """Start one, or answer 503 while there are as many as there may be."""
        if len(self.list_kernel_ids()) + self._starting >= self.most_kernels:
            raise web.HTTPError(503, f"all {self.most_kernels} kernels are in use", reason="All places are taken")
        self._starting += 1
        try:
            kernel_id: str = await super().start_kernel(**options)
        finally:
            self._starting -= 1
        return kernel_id


class IndexHandler(BaseVoilaHandler):
    """The page with a card for each notebook."""

    def initialize(self, **settings: Any) -> None:
        """Take the folder of the notebooks besides what Voila gives."""
        self.root = Path(settings.pop("root"))
        super().initialize(**settings)

    @web.authenticated
    async def get(self) -> None:
        """Write the page."""
        cards = [card_of(path) for path in sorted(self.root.glob("*.ipynb"))]
        self.write(self.render_template("dashboard.html", cards=cards))


class Dashboard(Voila):
    """Voila with the index in place of its list of files, and with the limits above."""

    name = "voila"  # its settings stand in voila.json
    classes = [*Voila.classes, Kernels]
    aliases = {
        **Voila.aliases,
        "ip": "Voila.ip",
        "kernels": "Kernels.most_kernels",
        "idle": "Kernels.cull_idle_timeout",
    }

    def initialize(self, argv: list[str] | None = None) -> None:
        """Read the settings; beyond this machine there must be a token, and one is made if none is given."""
        super().initialize(argv)
        self.voila_configuration.multi_kernel_manager_class = Kernels
        if is_loopback(self.ip):
            return
        if self.token == "":
            self.exit_with(f"--token= with --ip={self.ip}: expected a token, or none of the two: others can connect")
        self.auto_token = self.token is None

    def exit_with(self, text: str) -> None:
        """End with one line that says why."""
        print(f"dashboard: {text}", file=sys.stderr)
        self.exit(2)

    def init_settings(self) -> dict[str, Any]:
        """As Voila's; on this machine only, a page elsewhere may not reach the server under a name of its own.

        The page that asks for the token is ours: Jupyter's is for whoever runs the server.
        """
        settings = super().init_settings()
        pages = settings["jinja2_env"]
        pages.loader = ChoiceLoader([FileSystemLoader(LOGIN), pages.loader])
        return {**settings, "allow_remote_access": not is_loopback(self.ip)}

    def init_handlers(self) -> list[Any]:
        """Voila's pages, with the index first."""
        settings = {"voila_configuration": self.voila_configuration, "root": self.root_dir}
        index = [(f"{self.server_url}{path}", IndexHandler, settings) for path in ("", "voila/tree/?")]
        return [*index, *super().init_handlers()] if not self.notebook_path else super().init_handlers()


def is_loopback(ip: str) -> bool:
    """Whether only this machine can connect to a server on that address; an empty one is all of them."""
    if ip == "localhost":
        return True
    try:
        return ipaddress.ip_address(ip).is_loopback
    except ValueError:
        return False


def card_of(path: Path) -> Card:
    """What the index says of a notebook: heading, first sentence below (no citation), whether it opens a lab."""
    notebook = nbformat.read(path, as_version=4)
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    heading = re.search(r"^#\s+(.+)$", text, re.MULTILINE)
    below = text[heading.end() :] if heading else text
    paragraphs = [part for part in re.split(r"\n\s*\n", below) if part.strip() and part.strip()[0] not in "#|<$`-!"]
    sentences = [each for part in paragraphs for each in re.split(r"(?<=[.?!])\s", plain(part))]
    sentence = next((each for each in sentences if not CITED.search(each)), "")
    kind = "lab" if re.search(r"\b\w*Lab\(", code) else "page"
    return Card(path.name, plain(heading[1]) if heading else path.stem, sentence, kind)


def plain(markdown: str) -> str:
    """Text without the signs of Markdown."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    return re.sub(r"(\*\*|[*`$])(\S(?:.*?\S)??)\1", r"\2", " ".join(text.split()))


if __name__ == "__main__":
    Dashboard.launch_instance()
