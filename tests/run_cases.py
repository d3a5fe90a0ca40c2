"""Run reference cases through each paper's Data: `python tests/run_cases.py FILE...`.

Reads files of `dlsched-case/1` (one case each), Gavel files (`header` with `instances`, or a whole simulation) and
`runs.json`. Prints one JSON line per case, `{"id", "ok", "expected", "got", "note"}` (`ok` is null for a case that no
runner takes, or whose data is not here), and a last line `N passed, N failed, N unsupported`. Exit 0, 1 if a case
failed, 2 for a malformed file.

A paper adds its runners in `tests/cases/<paper>.py`: `RUNNERS`, a mapping from the name of a kind of case (see `names`
of `Case`) to a function that takes the case and its header and returns `ok`, `expected`, `got` and `note`.
"""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:
    sys.path.insert(0, str(HERE.parent))

from workbench.base.errors import WorkbenchError  # noqa: E402

Runner = Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]]


class Malformed(Exception):
    """A file that is no case file."""


class Case(NamedTuple):
    """One case. paper: whose runner; names: names that a runner may have, the most specific first."""

    id: str
    paper: str
    names: tuple[str, ...]
    body: Mapping[str, Any]
    header: Mapping[str, Any]


def read(path: Path) -> list[Case]:
    """The cases of a file; raises Malformed in one line."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Malformed(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise Malformed(f"{path}: not JSON: {error}") from error
    if not isinstance(data, dict):
        raise Malformed(f"{path}: expected a JSON object, got {type(data).__name__}")
    try:
        return list(_cases(data, path))
    except (KeyError, TypeError, AttributeError) as error:
        raise Malformed(f"{path}: {_complaint(error)}") from error


def _cases(data: dict[str, Any], path: Path) -> Iterator[Case]:
    if "schema" in data or "paper" in data:
        if data.get("schema") != "dlsched-case/1":
            raise Malformed(f"{path}: schema {data.get('schema')!r}; expected 'dlsched-case/1'")
        instance, options = data["instance"], data.get("options") or {}
        what = options.get("model") or options.get("step") or instance.get("model") or instance.get("step")
        kind = str(data["kind"])
        names = (f"{kind}/{what}", kind) if what else (kind,)
        yield Case(str(data.get("id", path.stem)), str(data["paper"]), names, data, {})
    elif "instances" in data:
        header = data.get("header") or {}
        for number, body in enumerate(data["instances"], start=1):
            name = str(body.get("instance", f"{path.stem}-{number:02d}"))
            # The file's name tells apart what has the same policy (the hierarchical ones).
            names = (name.rpartition("-")[0], path.stem, str(header.get("policy")))
            yield Case(name, "gavel", tuple(filter(None, names)), body, header)
    elif "rounds" in data and "allocations" in data:
        header = data.get("header") or {}
        yield Case(path.stem, "gavel", (f"rounds/{header.get('policy')}", "rounds"), data, header)
    elif "runs" in data:
        for number, body in enumerate(data["runs"], start=1):
            name = f"{path.stem}-{number:02d} {body.get('trace', '')} {body.get('policy', '')}".strip()
            yield Case(name, "gavel", (f"runs/{body.get('policy')}", "runs"), body, {"note": data.get("note")})
    else:
        raise Malformed(f"{path}: neither `schema` of dlsched-case/1 nor `instances`, `rounds` or `runs` of Gavel")


@cache
def runners(paper: str) -> Mapping[str, Runner]:
    """The runners of `tests/cases/<paper>.py`; none if there is no such file."""
    path = HERE / "cases" / f"{paper}.py"
    if not paper.isidentifier() or not path.is_file():
        return {}
    spec = importlib.util.spec_from_file_location(f"cases_{paper}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.RUNNERS)


def run(case: Case) -> dict[str, Any]:
    """The line of a case."""
    known = runners(case.paper)
    runner = next((known[name] for name in case.names if name in known), None)
    line: dict[str, Any] = {"id": case.id, "ok": None, "expected": None, "got": None, "note": ""}
    if runner is None:
        return {**line, "note": f"unsupported: {case.paper} {case.names[0]}"}
    try:
        found = {**line, **runner(case.body, case.header)}
        return {**found, "ok": None if found["ok"] is None else bool(found["ok"])}
    except WorkbenchError as error:
        return {**line, "ok": False, "got": error.status, "note": " ".join(str(error).split())}
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        return {**line, "ok": False, "note": f"cannot be run: {_complaint(error)}"}


def _complaint(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return " ".join(f"{type(error).__name__}: {error}".split())


def _finite(value: Any) -> Any:
    """The value as JSON: numpy numbers plain, infinite and unknown ones null."""
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if hasattr(value, "tolist"):
        return _finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def main(arguments: Iterable[str]) -> int:
    """Run the files named; returns the exit code."""
    paths = [Path(argument) for argument in arguments]
    if not paths:
        print("usage: python tests/run_cases.py FILE...", file=sys.stderr)
        return 2
    passed = failed = unsupported = malformed = 0
    for path in paths:
        try:
            cases = read(path)
        except Malformed as error:
            print(f"error: {error}", file=sys.stderr)
            malformed += 1
            continue
        for case in cases:
            line = run(case)
            passed += line["ok"] is True
            failed += line["ok"] is False
            unsupported += line["ok"] is None
            print(json.dumps(_finite(line), allow_nan=False), flush=True)
    print(f"{passed} passed, {failed} failed, {unsupported} unsupported")
    return 2 if malformed else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
