"""Sentences of a lesson as HTML: escaped, with `code`, **strong** and *stressed* words; the page sets $formulas$."""

from __future__ import annotations

import html
import re

_CODE = re.compile(r"`([^`]+)`")
_STRONG, _STRESSED = re.compile(r"\*\*([^*]+)\*\*"), re.compile(r"(?<![\w*])\*([^*\s$][^*$]*)(?<!\s)\*(?![\w*])")
LOOK = "border-left: 4px solid {colour}; padding: 0.2em 0.8em; margin: 0.3em 0"
"""Of a box. Colours are those that read on light and dark alike."""
ASKS, RIGHT, WRONG = "#1976d2", "#2e7d32", "#e65100"


def prose(text: str) -> str:
    """Paragraphs, which empty lines part."""
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]
    return "".join(f"<p style='margin: 0.3em 0'>{_marked(part)}</p>" for part in parts if part)


def box(colour: str, *parts: str) -> str:
    """A box of parts that are HTML."""
    return f"<div class='wb-lesson' style='{LOOK.format(colour=colour)}'>{''.join(parts)}</div>"


def fold(title: str, *parts: str) -> str:
    """What is read only by who opens it."""
    return f"<details><summary style='cursor: pointer'>{html.escape(title)}</summary>{''.join(parts)}</details>"


def _marked(text: str) -> str:
    said = _STRESSED.sub(r"<em>\1</em>", _STRONG.sub(r"<strong>\1</strong>", html.escape(text)))
    return _CODE.sub(r"<code>\1</code>", said)
