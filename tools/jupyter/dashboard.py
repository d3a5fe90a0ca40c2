"""The dashboard: Voila with an index of the labs, a limit on kernels, and a token unless only this machine can connect.

tools/serve dashboard [--ip=0.0.0.0] [--port=8866] [--token=WORD] [--kernels=8] [--per-visitor=3] [--idle=S] FOLDER
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections import Counter
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from jinja2 import ChoiceLoader, FileSystemLoader
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from tornado import web
from tornado.ioloop import PeriodicCallback
from tornado.websocket import WebSocketClosedError
from traitlets import Integer
from voila.app import Voila
from voila.handler import BaseVoilaHandler
from voila.tornado.execution_request_handler import ExecutionRequestHandler
from voila.tornado.handler import TornadoVoilaHandler

from workbench.base.text import is_loopback

LOGIN = Path(__file__).parent / "login"
CITED = re.compile(r"\band others\b|\b(?:19|20)\d\d\b")
"""A sentence that names a paper, which the index passes over."""
PER_VISITOR = 3
"""Pages that one address may have open where others can connect, unless told."""
UNANSWERED = 3
"""Questions without an answer after which a browser counts as gone."""
LOOK_S = 5
"""How often browsers that are gone are looked for; tornado takes as long to give up a connection that is silent."""
VISITOR: ContextVar[str] = ContextVar("VISITOR", default="")
"""The address of whoever asks for a page, while it is made."""


class Card(NamedTuple):
    """What the index says of a notebook. kind: `lab` if it opens one, else `page`."""

    path: str
    title: str
    sentence: str
    kind: str


class Kernels(AsyncMappingKernelManager):
    """The kernels of the dashboard's visitors: no more at a time than the machine bears, and none without a browser."""

    most_kernels = Integer(8, min=1, config=True, help="Pages that may be open at a time.")
    most_per_visitor = Integer(0, min=0, config=True, help="Of these, from one address (0: all).")
    away_s = Integer(45, min=1, config=True, help="Seconds after which a page whose browser is gone loses its place.")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._starting: Counter[str] = Counter()
        self._visitor: dict[str, str] = {}
        self._left_s: dict[str, float] = {}  # when the last browser of a kernel left it
        self._look: PeriodicCallback | None = None

    async def start_kernel(self, **options: Any) -> str:
        """Start one, or answer 503 while there are as many as there may be, in all or from this visitor's address."""
        visitor, open_now = VISITOR.get(), self.list_kernel_ids()
        if len(open_now) + self._starting.total() >= self.most_kernels:
            raise web.HTTPError(503, f"all {self.most_kernels} kernels are in use", reason="All places are taken")
        own = sum(self._visitor.get(kernel_id) == visitor for kernel_id in open_now) + self._starting[visitor]
        if own >= (self.most_per_visitor or self.most_kernels):
            raise web.HTTPError(503, f"{visitor} has {own} kernels", reason="You have too many pages open")
        if self._look is None:
            self._look = PeriodicCallback(self.end_deserted, 1000 * min(LOOK_S, self.away_s / 4))
            self._look.start()
        self._starting[visitor] += 1
        try:
            kernel_id: str = await super().start_kernel(**options)
        finally:
            self._starting[visitor] -= 1
        self._visitor[kernel_id] = visitor
        return kernel_id

    def notify_disconnect(self, kernel_id: str) -> None:
        """Note when a browser leaves a kernel."""
        super().notify_disconnect(kernel_id)
        self._left_s[kernel_id] = time.monotonic()

    async def end_deserted(self) -> None:
        """End the kernels whose browser has been gone for long, busy or not, and those to which none ever came."""
        for kernel_id in self.list_kernel_ids():
            if self._kernel_connections.get(kernel_id, 0) == 0 and self._alone_s(kernel_id) > self.away_s:
                self.log.warning("Ending kernel %s: its browser is gone", kernel_id)
                await self.shutdown_kernel(kernel_id, now=True)
        here = set(self.list_kernel_ids())
        for known in (self._visitor, self._left_s):
            for kernel_id in set(known) - here:
                del known[kernel_id]

    def _alone_s(self, kernel_id: str) -> float:
        """Seconds since a browser was there; 0 while the page is made that a browser will then connect from."""
        if kernel_id in self._left_s:
            return time.monotonic() - self._left_s[kernel_id]
        kernel = self.get_kernel(kernel_id)
        if kernel.execution_state in ("starting", "busy"):
            return 0.0
        return float((datetime.now(UTC) - kernel.last_activity).total_seconds())


class PageHandler(TornadoVoilaHandler):
    """A notebook's page, which knows for whom it is."""

    async def prepare(self) -> None:
        """Note who asks, and set the cookie without which a page that is left could not end its kernel."""
        VISITOR.set(str(self.request.remote_ip))
        await super().prepare()
        _ = self.xsrf_token


class CellsHandler(ExecutionRequestHandler):
    """What runs a page's cells and sends each output; its browser's answers to pings are read meanwhile.

    Tornado reads nothing more until `on_message` is done. Voila's own takes as long as all cells, and the connection
    would be given up before a slow one has run.
    """

    _executor: Any = None
    _running: asyncio.Task[None] | None = None

    def on_message(self, message_str: str | bytes) -> None:
        """Run the cells beside the connection."""
        self._running = asyncio.create_task(self._run(message_str))

    async def _run(self, message: str | bytes) -> None:
        with suppress(WebSocketClosedError):  # its browser is gone
            await super().on_message(message)


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
        "per-visitor": "Kernels.most_per_visitor",
        "idle": "Kernels.cull_idle_timeout",
    }
    ping_s = Integer(10, min=1, config=True, help="Seconds between questions to a browser whether it is there.")

    def initialize(self, argv: list[str] | None = None) -> None:
        """Read the settings; beyond this machine there must be a token, and one is made if none is given."""
        super().initialize(argv)
        self.voila_configuration.multi_kernel_manager_class = Kernels
        if is_loopback(self.ip):
            return
        if self.token == "":
            self.exit_with(f"--token= with --ip={self.ip}: expected a token, or none of the two: others can connect")
        self.auto_token = self.token is None
        self.config.Kernels.setdefault("most_per_visitor", PER_VISITOR)

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
        pings = {"ws_ping_interval": 1000 * self.ping_s, "ws_ping_timeout": 1000 * UNANSWERED * self.ping_s}
        return {**settings, **pings, "allow_remote_access": not is_loopback(self.ip)}

    def init_handlers(self) -> list[Any]:
        """Voila's pages, with the index first, pages that know their visitor, and cells that run by themselves."""
        settings = {"voila_configuration": self.voila_configuration, "root": self.root_dir}
        index = [(f"{self.server_url}{path}", IndexHandler, settings) for path in ("", "voila/tree/?")]
        ours = {TornadoVoilaHandler: PageHandler, ExecutionRequestHandler: CellsHandler}
        pages = [(pattern, ours.get(kind, kind), *rest) for pattern, kind, *rest in super().init_handlers()]
        return pages if self.notebook_path else [*index, *pages]


def longest_s(ping_s: float, away_s: float) -> float:
    """Seconds until the place of a browser that vanished is free, at most: it is asked `UNANSWERED` times, the
    connection is given up, and the kernel stays for `away_s`, in case that it comes back."""
    return (UNANSWERED + 2) * ping_s + LOOK_S + away_s + LOOK_S


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
