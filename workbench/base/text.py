"""Text from users: what it may hold, and how it is shown in each place where it could be more than text.

HTML is escaped by `html.escape` of the standard library, everything else here.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pandas as pd

UNSEEN: Final = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""What no name holds, as within the brackets of a pattern: control characters (Unicode category Cc), line and paragraph
separators (Zl, Zp), and those that turn the direction of the text around them (bidirectional formats, part of Cf:
U+061C, U+200E-F, U+202A-E, U+2066-9). Halves of surrogate pairs (Cs) are no text at all. The joiners that Persian and
emoji are written with (others of Cf) are allowed."""
UNSEEN_IN_PROSE: Final = UNSEEN.replace(r"\x00-\x1f", r"\x00-\x08\x0b\x0c\x0e-\x1f")
"""The same, but for tabs and line ends: what no description holds."""
MOST_LETTERS: Final = 200
"""Of a name."""

_UNSEEN = re.compile(f"[{UNSEEN}\ud800-\udfff]")
_LINE_PARTS = re.compile(r"[^\t\n]+")
_MARKED = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$&:@])")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def is_seen(text: object) -> bool:
    """Whether a value is text on one line that holds nothing of `UNSEEN`."""
    return isinstance(text, str) and (text.isprintable() or _UNSEEN.search(text) is None)


def is_name(text: object) -> bool:
    """Whether a value may be a name: 1 to 200 characters, none of `UNSEEN`."""
    return is_seen(text) and 0 < len(str(text)) <= MOST_LETTERS


def on_one_line(text: str) -> str:
    """The text with what moves a cursor, ends the line or turns the reading direction as `\\x1b`, `\\n`, `\\u202e`."""
    return text if text.isprintable() else _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text)


def on_terminal(text: str) -> str:
    """The text for a terminal or a log: `on_one_line` for each of its lines, and with its tabs."""
    return _LINE_PARTS.sub(lambda found: on_one_line(found[0]), text)


def in_markdown(text: str) -> str:
    """The text as Markdown that shows it as it is: no link, no emphasis, no HTML, no maths, on one line."""
    return _MARKED.sub(r"\\\1", " ".join(text.split())).replace("\\<", "&lt;").replace("\\&", "&amp;")


def for_spreadsheet(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before each text, column names included, that a spreadsheet would run as a formula.

    For CSV that people open; what the workbench reads back is written as it is.
    """

    def cell(value: object) -> object:
        return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value

    found = table.rename(columns=cell)
    for position, kind in enumerate(table.dtypes):
        if not (kind.kind in "biufcMm" if hasattr(kind, "kind") else False):
            found.isetitem(position, table.iloc[:, position].map(cell).array)
    return found


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and no other can reach it by that name."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
