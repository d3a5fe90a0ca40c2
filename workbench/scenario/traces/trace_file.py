"""What every loader does alike: read text, read numbers, keep a window of arrivals, draw a sample."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from workbench.base.errors import InputError, Words, counted, why
from workbench.base.files import parse_json
from workbench.base.text import is_name
from workbench.scenario.traces.cluster_spec import EXPECTED as CLUSTER_EXPECTED
from workbench.scenario.traces.dropped_rows import ConversionSummary, Drops

STANDARD = "-"
"""Stands for standard input."""
MOST_BYTES = 2**30
"""Of a packed file when it is unpacked: a few kilobytes may hold any number."""


class Arriving(Protocol):
    """A row of a trace: its line and when its job arrives, in the file's time."""

    @property
    def line(self) -> int: ...

    @property
    def arrival_s(self) -> float: ...


Row = TypeVar("Row", bound=Arriving)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TIME = re.compile(r"(199|20\d)\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d", re.ASCII)
EPOCH = datetime(1990, 1, 1)
"""The first time that `read_time` reads: an earlier one is a clock that was not set."""
OUTSIDE = "arrives outside the window"


def read_text(path: str | Path, expected: str) -> str:
    """The file's text, or what standard input has (`-`), unpacked if gzip has packed it.

    Raises InputError if it cannot be read as UTF-8.
    """
    try:
        return _bytes(path, expected).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(source_name(path), why(error), f"{expected} (UTF-8 text)") from None


def _bytes(path: str | Path, expected: str) -> bytes:
    try:
        data = sys.stdin.buffer.read() if str(path) == STANDARD else Path(path).read_bytes()
        if not data.startswith(b"\x1f\x8b"):
            return data
        with gzip.open(io.BytesIO(data)) as packed:
            data = packed.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:  # the last two: a packed file that is cut or damaged
        raise InputError(source_name(path), why(error), expected) from None
    if len(data) > MOST_BYTES:
        raise InputError(source_name(path), Words("more than 1 GiB when unpacked"), expected)
    return data


def read_any(path: str | Path, expected: str) -> tuple[str, str]:
    """The file's text, lines that are not UTF-8 read as Latin-1, and what is told of these; NUL bytes are left out,
    UTF-16 is known by its byte order mark, and of its lines those are told in which something is none (read as U+FFFD).

    Raises InputError if the file cannot be read.
    """
    data, found, odd, how = _bytes(path, expected), list[str](), 0, "not in UTF-8, read as Latin-1"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text, without = (data.decode("utf-16", errors) for errors in ("replace", "ignore"))
        odd = sum(one != other for one, other in zip(text.split("\n"), without.split("\n"), strict=True))
        data, how = text.encode("utf-8", "replace"), "with letters that are damaged"
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    nul = sum(b"\0" in line for line in lines) if b"\0" in data else 0
    for line in lines if not nul else (line.replace(b"\0", b"") for line in lines):
        try:
            found.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            found.append(line.decode("latin-1"))
            odd += 1
    told = [(odd, how), (nul, "with NUL bytes, which are left out")]
    return "\n".join(found), "; ".join(f"{counted(count, 'line')} {text}" for count, text in told if count)


def read_lines(path: str | Path, expected: str, text: str | None = None, first: int = 1) -> list[tuple[int, str]]:
    """The lines that are not blank, stripped, each with its number; raises InputError where there is none.

    text: what the file has, where it has been read; first: the number of its first line.
    """
    lines = (read_text(path, expected) if text is None else text).split("\n")
    found = [(number, text) for number, line in enumerate(lines, first) if (text := line.strip())]
    if not found:
        raise InputError(source_name(path), Words("an empty file"), expected)
    return found


class RawTable(NamedTuple):
    """A file with a header. rows: the line of each row and its cells by column, those with too few or too many not."""

    header: list[str]
    rows: Iterator[tuple[int, Mapping[str, str]]]


def read_table(
    path: str | Path,
    expected: str,
    columns: Sequence[str],
    drops: Drops,
    separator: str = ",",
    optional: Sequence[str] = (),
    quoted: bool = True,
    text: str | None = None,
    first: int = 1,
) -> RawTable:
    """A table of text, cells stripped; while it is read its bad rows go to `drops`.

    quoted: a cell may stand between quotation marks, and then hold separators and line breaks; text, first: as for
    `read_lines`. Raises InputError for a
    header without one of the columns, or with one of them (or an optional one) twice.
    """
    lines = read_lines(path, expected, text, first)
    first = lines[0][0]
    header, at = _cells(lines, 0, separator, quoted) or ([lines[0][1]], 1)
    wrong = [name for name in columns if header.count(name) != 1]
    wrong += [name for name in optional if header.count(name) > 1]
    if wrong:
        where = source_name(path) + (f", line {first}" if first else "")
        raise InputError(where, Words(f"no single {', '.join(wrong)}"), expected)

    for name in drops.keep:
        if header.count(name) != 1:
            raise InputError("keep", name, f"a column of {source_name(path)}: {', '.join(header)}")

    def rows() -> Iterator[tuple[int, Mapping[str, str]]]:
        begin = at
        while begin < len(lines):
            line = lines[begin][0]
            cells, end = _cells(lines, begin, separator, quoted) or ([], begin + 1)
            if len(cells) == len(header):
                row = dict(zip(header, cells, strict=True))
                begin = end
                _keep(line, row, drops)
                yield line, row
                continue
            odd = (
                f"{counted(len(cells), 'column')} instead of {len(header)}"
                if cells
                else "a quotation mark out of place"
            )
            drops.add(odd, line)
            begin += 1  # a stray quotation mark must not take the rows below with it

    return RawTable(header, rows())


def _keep(line: int, cells: Mapping[str, str], drops: Drops) -> None:
    """Keep the cells of a row that become attributes, numbers as numbers, empty ones not; what cannot be one is left
    out and counted."""
    found: dict[str, float | str] = {}
    for name in drops.keep:
        text = cells[name]
        if text and not is_name(text):
            drops.unkept[name] += 1
            continue
        value = None if len(text) > 1 and text[0] == "0" and text[1].isdigit() else number(text)  # 007 is a name
        if text:
            found[name] = text if value is None else value
    drops.kept[line] = found


def _cells(lines: Sequence[tuple[int, str]], begin: int, separator: str, quoted: bool) -> tuple[list[str], int] | None:
    """The cells of the row that begins in a line, and where the next row begins; None where quotation marks are odd."""
    text = lines[begin][1]
    if not quoted or '"' not in text:
        return [cell.strip() for cell in text.split(separator)], begin + 1
    following = (lines[i][1] + "\n" for i in range(begin, len(lines)))
    reader = csv.reader(following, delimiter=separator, skipinitialspace=True, strict=True)
    try:
        return [cell.strip() for cell in next(reader)], begin + reader.line_num
    except csv.Error:
        return None


def source_name(path: str | Path) -> str:
    """What messages and summaries call a source."""
    return "standard input" if str(path) == STANDARD else str(path)


def read_json(path: str | Path, expected: str) -> Any:
    """The file's JSON; raises InputError if it is none, names a key twice or holds NaN or infinities."""
    text = read_text(path, expected)
    try:
        return parse_json(text)
    except ValueError as error:
        raise InputError(source_name(path), why(error), expected) from None


def number(text: str) -> float | None:
    """A finite decimal number, None for anything else (also for nan, inf, 1_000 and hexadecimal)."""
    value = float(text) if _NUMBER.fullmatch(text.strip()) else math.nan
    return value if math.isfinite(value) else None


def read_time(text: str, between: str) -> float | None:
    """Seconds from `EPOCH` to `YYYY-MM-DD HH:MM:SS`, local time without a zone; None for anything else.

    between: what stands between date and time, a space or a T. Years are 1990 to 2099.
    """
    if not _TIME.fullmatch(text) or text[10] != between:
        return None
    try:
        return (datetime.fromisoformat(text) - EPOCH).total_seconds()
    except ValueError:
        return None


def check_seed(seed: int) -> None:
    """Raise InputError if the seed is not one that a scenario may have."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise InputError("seed", seed, "a whole number, at least 0 and below 2**63")


class TraceCut(NamedTuple):
    """The cluster of a trace, and which of its jobs to keep, as `workbench.scenario.traces.Loader` has them."""

    cluster: Mapping[str, Any] | None
    from_s: float | None = None
    to_s: float | None = None
    sample: int | None = None
    seed: int = 0

    def check(self) -> None:
        """Raise InputError if the window, the sample or its seed makes no sense."""
        check_seed(self.seed)
        for name, value in (("from_s", self.from_s), ("to_s", self.to_s)):
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise InputError(name, value, "seconds, at least 0")
        if self.to_s is not None and self.to_s <= (self.from_s or 0.0):
            raise InputError("to_s", self.to_s, f"a time after the begin of the window ({self.from_s or 0.0:g} s)")
        if self.sample is not None and self.sample < 1:
            raise InputError("sample", self.sample, "at least one job")

    def check_without_speeds(self, format: str, throughputs: str | Path | None) -> None:
        """Raise InputError for what can be refused of a format without speeds before the file is read."""
        if throughputs is not None:
            expected = f"no file of speeds: a {format} trace has none, the built-in ones are taken"
            raise InputError("throughputs", str(throughputs), expected)
        if self.cluster is None:
            raise InputError("cluster", None, CLUSTER_EXPECTED)
        self.check()


def draw_sample(count: int, sample: int | None, seed: int) -> list[int]:
    """Positions of a uniform sample without replacement, in file order; all of them if there are not more."""
    if sample is None or sample >= count:
        return list(range(count))
    return sorted(np.random.default_rng(seed).choice(count, size=sample, replace=False).tolist())


def in_window(
    rows: Sequence[Row], from_s: float | None, to_s: float | None, drops: Drops, before: str = OUTSIDE
) -> list[Row]:
    """The rows that arrive from `from_s` (included) to `to_s` (excluded); the others go to `drops`, those before
    `from_s` with a reason of their own."""
    low, high = from_s or 0.0, math.inf if to_s is None else to_s
    drops.add_all(before, (row.line for row in rows if row.arrival_s < low))
    drops.add_all(OUTSIDE, (row.line for row in rows if row.arrival_s >= high))
    return [row for row in rows if low <= row.arrival_s < high]


def sampled(rows: Sequence[Row], sample: int | None, seed: int, drops: Drops) -> list[Row]:
    """The rows of a sample, in their order; the others go to `drops`."""
    chosen = set(draw_sample(len(rows), sample, seed))
    drops.add_all("not in the sample", (row.line for i, row in enumerate(rows) if i not in chosen))
    return [row for i, row in enumerate(rows) if i in chosen]


def sample_notes(count: int, sample: int | None) -> Iterator[str]:
    """A note where a sample is larger than what it is drawn from. count: how many jobs there are to draw from."""
    if sample is not None and sample > count:
        yield f"a sample of {counted(sample, 'job')} was asked for, there are {count}: all are kept"


def account(source: str, format: str, kept: Sequence[Row], drops: Drops) -> ConversionSummary:
    """The summary without notes; raises InputError, saying why each row was dropped, if none is kept."""
    dropped = drops.result()
    if not kept:
        raise InputError(source, Words("; ".join(map(str, dropped)) or "no rows"), "at least one job that can be kept")
    return ConversionSummary(source, format, len(kept) + sum(reason.count for reason in dropped), len(kept), dropped)
