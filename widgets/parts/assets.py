"""What several widgets of one kernel share: the style sheet, and one copy of the Vega programs.

The bundle made by vl-convert (Vega, Vega-Lite, Vega-Embed: 0.9 MB of JavaScript) needs no internet. Anywidget sends
`_esm` with every widget and loads it anew for each, so a page with ten charts would carry it ten times. Here it
travels once per kernel, compressed (0.3 MB), as the state of one hidden widget, and a page loads it once, as soon as it
knows that widget: every chart refers to it, and `vega_programs.js` keeps the loaded programs by their digest.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from widgets.parts.lazy_widgets import lazy
from workbench.base.errors import WorkbenchError
from workbench.base.files import write_bytes

VEGA_LITE = "6.4"
"""The Vega-Lite in the bundle: the newest that Altair 6 writes for."""

VEGA = (Path(__file__).parent / "vega_programs.js").read_text(encoding="utf-8")
"""What stands above the programs of a chart and of the hidden widget: how a page loads Vega once."""

_EXPORTS = "export { vegaEmbed as embed };"


class Scripted(anywidget.AnyWidget):
    """A widget of ours: what a page runs for it is a trait of its class.

    anywidget makes what is none a trait of each widget, which then has a class of its own: a sixth of a lab's opening.
    """

    _anywidget_id = traitlets.Unicode().tag(sync=True)

    @traitlets.default("_anywidget_id")
    def _class_name(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}"

    def add_traits(self, **traits: Any) -> None:
        """Add those that the class has not."""
        if missing := {name: trait for name, trait in traits.items() if not self.has_trait(name)}:
            super().add_traits(**missing)


def program(path: Path, above: str = "") -> traitlets.Unicode[str, str | bytes]:
    """What a page runs for a widget: the file, whose widget is `heard(...)`, below what defines that."""
    heard = (Path(__file__).parent / "slow_page.js").read_text(encoding="utf-8")
    return traitlets.Unicode(above + heard + path.read_text(encoding="utf-8")).tag(sync=True)


def style() -> traitlets.Unicode[str, str | bytes]:
    """The style sheet of all widgets."""
    return traitlets.Unicode((Path(__file__).parent / "style.css").read_text(encoding="utf-8")).tag(sync=True)


class VegaPrograms(Scripted):
    """Hidden widget that carries the Vega programs to the page: `code` is gzip-compressed JavaScript."""

    _esm = traitlets.Unicode(
        VEGA + "export default { initialize({ model }) { vegaPrograms(model); }, render() {} };"
    ).tag(sync=True)
    code = traitlets.Bytes().tag(sync=True)
    digest = traitlets.Unicode().tag(sync=True)


_programs: VegaPrograms | None = None


def vega_programs() -> VegaPrograms:
    """Return this kernel's `VegaPrograms`, made when first asked for and made again after `Widget.close_all()`."""
    global _programs
    if _programs is None or _programs.comm is None:
        _programs = carrier()
    return _programs


def carrier() -> VegaPrograms:
    """A new widget that has a page load the programs, if it has not yet.

    One that is made before a page is there is for that alone: the page does not know it at once, and a chart that
    referred to it could fail.
    """
    code = vega_bundle()
    with lazy(hold=False):
        return VegaPrograms(code=code, digest=hashlib.sha256(code).hexdigest()[:16])


@cache
def vega_bundle() -> bytes:
    """Return the compressed bundle; making it takes over a second, so the user's cache folder keeps it."""
    recipe = hashlib.sha256(f"{version('vl-convert-python')} {VEGA_LITE} {_EXPORTS}".encode()).hexdigest()[:16]
    kept = cache_folder() / f"vega-{recipe}.js.gz"
    with contextlib.suppress(OSError, EOFError, ValueError):
        code = kept.read_bytes()
        gzip.decompress(code)  # a damaged file is made anew
        return code
    import vl_convert

    source = vl_convert.javascript_bundle(_EXPORTS, VEGA_LITE)
    code = gzip.compress(source.encode(), 6, mtime=0)
    with contextlib.suppress(OSError, WorkbenchError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(kept, code, force=True)
    return code


def cache_folder() -> Path:
    """Return the folder for files that can be made again at any time."""
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "workbench"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "workbench"
    return Path.home() / ".cache" / "workbench"
