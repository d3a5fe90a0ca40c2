"""Make README's moving picture of screenshots: `make picture`, or `python tools/moving_picture.py SHOTS OUT.png`.

SHOTS is the folder in which `tests/widgets/test_one_thing_browser.py` has left its screenshots (WORKBENCH_SHOTS). The
picture is an animated PNG of the notebook alone, in at most 256 colours: of more, the most frequent are kept.
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
FRAMES = {"one-thing-why": 4, "one-thing-row": 3, "one-thing-dragged": 4, "one-thing-compared": 4}
"""The screenshots, in order, and how many seconds each is shown."""
TOP, BOTTOM, LEFT, RIGHT = 90, 870, 40, 1228
"""The part of a screenshot that is kept: the notebook, without what is around it."""
SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = 256


def main(shots: str, out: str) -> None:
    """Write the picture and say how large it is."""
    frames = [pixels(Path(shots) / f"{name}.png")[TOP:BOTTOM, LEFT:RIGHT, :3] for name in FRAMES]
    palette, indexed = in_few_colours(np.stack(frames))
    Path(out).write_bytes(animated(palette, indexed, list(FRAMES.values())))
    print(f"{out}: {len(frames)} pictures, {Path(out).stat().st_size / 1000:.0f} kB")


def chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The chunks of a PNG: name and content."""
    at = len(SIGNATURE)
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += length + 12


def pixels(path: Path) -> Pixels:
    """(height, width, channels) of a PNG of 8 bits a channel, not interlaced, with or without transparency."""
    parts = list(chunks(path.read_bytes()))
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    if depth != 8 or kind not in (2, 6) or interlaced:
        raise SystemExit(f"{path}: a PNG of depth {depth}, kind {kind}; expected true colour of 8 bits")
    channels = 3 if kind == 2 else 4
    raw = zlib.decompress(b"".join(content for name, content in parts if name == b"IDAT"))
    rows = np.frombuffer(raw, np.uint8).reshape(height, 1 + width * channels)
    found = np.zeros((height, width, channels), np.uint8)
    above = np.zeros((width, channels), np.uint8)
    for y in range(height):
        above = found[y] = unfiltered(int(rows[y, 0]), rows[y, 1:].reshape(width, channels), above)
    return found


def unfiltered(how: int, row: Pixels, above: Pixels) -> Pixels:
    """A row as it was before PNG's filter 0 to 4; all sums are modulo 256."""
    if how == 0:
        return row
    if how == 1:
        return np.add.accumulate(row, axis=0, dtype=np.uint8)
    if how == 2:
        return row + above
    found, left, corner = [], [0] * row.shape[1], [0] * row.shape[1]
    for now, up in zip(row.tolist(), above.tolist(), strict=True):
        guess = (paeth(*three) for three in zip(left, up, corner, strict=True))
        if how == 3:
            guess = ((a + b) // 2 for a, b in zip(left, up, strict=True))
        left = [(x + g) % 256 for x, g in zip(now, guess, strict=True)]
        corner = up
        found.append(left)
    return np.array(found, np.uint8)


def paeth(a: int, b: int, c: int) -> int:
    """The one of left, above and corner that is nearest to a + b - c."""
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def in_few_colours(frames: Pixels) -> tuple[Pixels, Pixels]:
    """The most frequent colours, and of each pixel the number of the nearest of them."""
    key = np.array([1 << 16, 1 << 8, 1])
    values, where, count = np.unique(frames.astype(np.int64) @ key, return_inverse=True, return_counts=True)
    colours = np.stack([values >> 16, values >> 8 & 255, values & 255], axis=1)
    kept = colours[np.sort(np.argsort(-count, kind="stable")[:COLOURS])]
    nearest = np.array([np.abs(kept - one).sum(axis=1).argmin() for one in colours], np.uint8)
    return kept.astype(np.uint8), nearest[where].reshape(frames.shape[:-1])


def animated(palette: Pixels, frames: Pixels, seconds: list[int]) -> bytes:
    """An animated PNG that is repeated for ever; of a later picture what has changed, as a rectangle."""
    number, height, width = frames.shape
    found = [chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))]
    found += [chunk(b"acTL", struct.pack(">II", number, 0)), chunk(b"PLTE", palette.tobytes())]
    order = 0
    for n in range(number):
        other = frames[n] != frames[n - 1] if n else np.ones((height, width), bool)
        ys, xs = (np.flatnonzero(other.any(axis=axis)) for axis in (1, 0))
        top, bottom, left, right = (int(end) for end in (ys[0], ys[-1] + 1, xs[0], xs[-1] + 1))
        shown = struct.pack(">IIIIIHHBB", order, right - left, bottom - top, left, top, seconds[n], 1, 0, 0)
        found.append(chunk(b"fcTL", shown))
        part = np.pad(frames[n, top:bottom, left:right], ((0, 0), (1, 0)))  # filter 0 before each row
        packed = zlib.compress(part.tobytes(), 9)
        found.append(chunk(b"fdAT", struct.pack(">I", order + 1) + packed) if n else chunk(b"IDAT", packed))
        order += 2 if n else 1
    return SIGNATURE + b"".join(found) + chunk(b"IEND", b"")


def chunk(name: bytes, content: bytes) -> bytes:
    """A chunk of a PNG: its length, name, content and check sum."""
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
