"""Digests of code: what a session wrote, so that runs by another version of it have another key."""

from __future__ import annotations

import dis
import hashlib
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_INSTALLED = tuple(Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib", "platlib"))


def digest(*written: Any) -> str:
    """SHA-256 of functions, classes and values: the code, what it closes over, and what it reads by name.

    Functions and classes of installed packages and of the workbench count by their names. Equal for a cell that is run
    again unchanged, whatever its layout and comments. Nothing is imported for it: what a module says that nobody has
    imported yet is not in it.
    """
    found = hashlib.sha256()
    for text in _texts_of(written, set()):
        found.update(text.encode(errors="surrogatepass") + b"\0")
    return found.hexdigest()


def _texts_of(value: Any, seen: set[int]) -> Iterator[str]:
    yield type(value).__qualname__
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        yield repr(value)
    elif id(value) in seen:
        yield "again"
    elif isinstance(value, CodeType):
        yield from (value.co_code.hex(), repr(value.co_names), repr(value.co_varnames))
        for each in value.co_consts:
            yield from _texts_of(each, seen)
    else:
        yield from _texts_of_object(value, seen | {id(value)})


def _texts_of_object(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, ModuleType):
        yield value.__name__
    elif isinstance(value, np.ndarray):
        yield from (str(value.dtype), repr(value.shape), value.tobytes().hex())
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (*_texts_of(key, seen), *_texts_of(item, seen))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts_of(item, seen)
    elif isinstance(value, (set, frozenset)):
        yield from sorted(" ".join(_texts_of(item, seen)) for item in value)
    elif isinstance(value, (FunctionType, type)):
        yield from (str(value.__module__), value.__qualname__)
        if not _is_installed(value.__module__ or "__main__"):
            yield from (
                _texts_of_function(value, seen) if isinstance(value, FunctionType) else _texts_of_class(value, seen)
            )
    elif hasattr(value, "__dict__"):
        yield from _texts_of(type(value), seen)
        yield from _texts_of(vars(value), seen)
    else:
        yield repr(value)


def _texts_of_function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    yield from _texts_of(function.__code__, seen)
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    yield from _texts_of([function.__defaults__, function.__kwdefaults__, *cells], seen)
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name
            yield from _texts_of(function.__globals__[name], seen)
    attributes = sorted(_read(function.__code__, "LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"))
    for module in _own_modules(function, attributes):
        yield from _texts_of({name: vars(module).get(name) for name in attributes}, seen)


def _texts_of_class(kind: type[Any], seen: set[int]) -> Iterator[str]:
    for name, item in sorted(vars(kind).items()):
        if isinstance(item, (staticmethod, classmethod)):
            item = item.__func__
        if isinstance(item, property):
            item = item.fget
        if not name.startswith("__") or isinstance(item, FunctionType):
            yield name
            yield from _texts_of(item, seen)
    for base in kind.__bases__:
        yield from _texts_of(base, seen)


def _is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _names(code: CodeType) -> set[str]:
    """Of the globals that it reads; `co_names` has those of attributes, too."""
    return _read(code, "LOAD_GLOBAL", "LOAD_NAME")


def _read(code: CodeType, *how: str) -> set[str]:
    """The names that it, and what is defined in it, reads so."""
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    own = {each.argval for each in dis.get_instructions(code) if each.opname in how}
    return own.union(*(_read(const, *how) for const in inner))


def _own_modules(function: FunctionType, attributes: Sequence[str]) -> list[ModuleType]:
    """The session's modules that it reads by a name, imports (if they are imported already), or reads of those."""
    read = [function.__globals__.get(name) for name in sorted(_names(function.__code__))]
    read += [sys.modules.get(name) for name in sorted(_read(function.__code__, "IMPORT_NAME"))]
    found = list[ModuleType]()
    for each in read:  # which grows
        if isinstance(each, ModuleType) and each not in found and not _is_installed(each.__name__):
            found.append(each)
            read += [vars(each).get(name) for name in attributes]
    return found


def _is_installed(name: str) -> bool:
    """Whether a module is a package's, which the run's version stands for, and not the session's."""
    if name.partition(".")[0] in ("workbench", "__main__", "__mp_main__"):
        return name.startswith("workbench")
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
    return file is None or any(map(Path(file).is_relative_to, _INSTALLED))
