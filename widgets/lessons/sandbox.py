"""A process that from now on reads what Python and the workbench consist of, and writes into one folder only.

Python's own audit hook sees what Python code opens, starts and connects to, and ends the process with a reason. On
Linux 5.13 and newer the kernel holds the same for compiled code (Landlock), and for every process that may be started;
elsewhere code that is determined to can get around the hook.
"""

from __future__ import annotations

import ctypes
import os
import resource
import site
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MEMORY_BYTES = 4 << 30
FILE_BYTES = 10 << 20
GRACE_S = 5
OURS = ("workbench", "widgets", "reproduction")
MACHINE = ("/proc/self", "/proc/meminfo", "/proc/cpuinfo", "/sys/devices/system/cpu", "/dev/null", "/dev/urandom")
TIME_ZONES = ("/etc/localtime", "/usr/share/zoneinfo")
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/etc/ld.so.cache")
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "pty.spawn")
SIGNALS = ("os.kill", "os.killpg")
CONNECTS = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo")
CHANGES = ("remove", "rename", "rmdir", "mkdir", "link", "symlink", "truncate", "chmod", "chown", "utime")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

CREATE, ADD, RESTRICT, NO_NEW_PRIVILEGES = 444, 445, 446, 38
WRITE_FILE, READ_FILE, READ_DIR = 1 << 1, 1 << 2, 1 << 3
BENEATH = 1


def limit(cpu_s: int) -> None:
    """Hold this process to a time on the processor, a memory and a size of files."""
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + GRACE_S))  # at the first SIGXCPU, at the second the end
    for what, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_FSIZE, FILE_BYTES)):
        resource.setrlimit(what, (most, most))


def close(scratch: Path, ended: Callable[[str], Any]) -> None:
    """Shut this process in; ended: is called with what it tried to do that it may not, and must end it."""
    scratch = scratch.resolve()
    readable = [scratch, *_readable()]
    _close_by_kernel(scratch, readable)
    sys.dont_write_bytecode = True

    def seen(event: str, given: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = given
            writes = bool((flags or 0) & WRITES)
            if isinstance(path, (str, bytes)) and not _inside(path, [scratch, _NULL] if writes else readable):
                ended(f"{'writes' if writes else 'reads'} {os.fsdecode(path)}, which is outside")
        elif event == "sqlite3.connect" and not _inside(given[0], [scratch]):
            ended(f"writes {os.fsdecode(given[0])}, which is outside")
        elif event in STARTS:
            ended("starts another process")
        elif event in SIGNALS:
            ended("sends a signal to another process")
        elif event in CONNECTS:
            ended("connects to a network")
        elif event.startswith("os.") and event[3:] in CHANGES:
            for path in given[: 2 if event in ("os.rename", "os.link", "os.symlink") else 1]:
                if isinstance(path, (str, bytes)) and not _inside(path, [scratch]):
                    ended(f"changes {os.fsdecode(path)}, which is outside")

    sys.addaudithook(seen)


_NULL = Path(os.devnull)


def _inside(path: str | bytes, roots: list[Path]) -> bool:
    real = Path(os.path.realpath(os.fsdecode(path)))
    return any(real.is_relative_to(root) for root in roots)


def _readable() -> Iterator[Path]:
    places = [sys.prefix, sys.base_prefix, *site.getsitepackages(), os.path.dirname(os.__file__)]
    places += [*MACHINE, *TIME_ZONES]
    for name in OURS:
        spec = find_spec(name)
        places += [] if spec is None else spec.submodule_search_locations or []
    (package,) = sys.modules["workbench"].__path__
    places.append(os.path.join(os.path.dirname(package), "datasets"))
    yield from (Path(place).resolve() for place in places if os.path.exists(place))


def _close_by_kernel(scratch: Path, readable: list[Path]) -> None:
    """Landlock, where this kernel has it (the rules of path and network that it knows of)."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(CREATE, None, 0, 1)
    if version < 1:
        return
    every = (1 << (13 + (version >= 2) + (version >= 3))) - 1
    asked = (ctypes.c_uint64 * 3)(every, 3, 3)  # no rule allows TCP (bind, connect); out of reach: sockets, signals
    ruleset = libc.syscall(CREATE, asked, 24 if version >= 6 else 16 if version >= 4 else 8, 0)
    libraries = [Path(place) for place in LIBRARIES]
    listed = [Path(place) for place in sys.path if place]
    rules = [(path, READ_FILE | READ_DIR) for path in [*readable, *libraries]]
    rules += [(path, READ_DIR) for path in listed] + [(scratch, every), (_NULL, READ_FILE | WRITE_FILE)]
    for path, allowed in rules:
        _allow(libc, ruleset, path, allowed)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.syscall(RESTRICT, ruleset, 0):
        raise OSError(ctypes.get_errno(), "the kernel does not shut the process in")


def _allow(libc: Any, ruleset: int, path: Path, allowed: int) -> None:
    if not path.exists():
        return
    place = os.open(path, os.O_RDONLY | getattr(os, "O_PATH", 0))
    files = 1 | WRITE_FILE | READ_FILE | 1 << 14  # what there is to allow of a file
    rule = allowed if path.is_dir() else allowed & files

    class LandlockRule(ctypes.Structure):
        _pack_ = 1
        _fields_ = [("allowed", ctypes.c_uint64), ("place", ctypes.c_int32)]

    failed = libc.syscall(ADD, ruleset, BENEATH, ctypes.byref(LandlockRule(rule, place)), 0)
    os.close(place)
    if failed:
        raise OSError(ctypes.get_errno(), "the kernel does not take a rule", str(path))
