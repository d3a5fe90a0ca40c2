"""What Slurm's programs print, as plain values: lists of nodes, resources, memory, times, tables and records.

Nothing here fails on a value that is none (but `json_cells`, of a job that is none): it is None, and the caller says
what becomes of it.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from workbench.base.files import parse_json
from workbench.scenario.traces.trace_file import EPOCH

ENDED = (
    *("COMPLETED", "BOOT_FAIL", "CANCELLED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"),
    *("REQUEUED", "REVOKED", "TIMEOUT"),
)
GOING_ON = ("COMPLETING", "CONFIGURING", "RESIZING", "RUNNING", "STOPPED", "SUSPENDED")
"""States of jobs, as sacct(1) has them."""
MOST_HOSTS = 100_000
NONE = ("", "(null)", "N/A", "n/a", "None", "none", "Unknown", "None assigned", "NONE", "Partition_Limit")
_FLAGS = re.compile(
    "--(contiguous|exact|exclusive|get-user-env|hold|ignore-pbs|immediate|label|multi-prog|nice|no-kill|no-requeue|"
    "overcommit|overlap|oversubscribe|parsable|preserve-env|propagate|pty|quiet|reboot|requeue|spread-job|test-only|"
    "unbuffered|use-min-nodes|verbose|wait|x11)"
)
_SHORT_FLAGS = "EHIKOQVWXZhklsuv"
"""Options of sbatch, salloc and srun that take no word after them."""
_ELAPSED = re.compile(r"(?:(\d{1,6})-)?(?:(\d{1,4}):)?(\d{1,4}):(\d\d)(?:\.\d+)?", re.ASCII)
_DAYS = re.compile(r"(\d{1,6})-(\d{1,2})(?::(\d\d))?", re.ASCII)
_TIME = re.compile(r"((?:199|20\d)\d-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_EPOCH = re.compile(r"\d{9,11}", re.ASCII)
_UNIX = datetime(1970, 1, 1)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)[nc]?", re.ASCII)
MOST_64 = 2.0**64
"""Beyond what Slurm counts."""
OR = "¦"
"""Stands for the bar of a constraint while bars part columns."""
_FACTOR = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_COUNT = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)", re.ASCII)
_PAIR = re.compile(r"([A-Za-z][\w.:/-]*)=(\"[^\"]*\"|\S*)", re.ASCII)
_STARTS = ("nodename", "partitionname", "reservationname", "switchname")
_JOBS, _COMMA, _DECODER = re.compile(r'"jobs"\s*:\s*\[\s*'), re.compile(r"\s*,?\s*"), json.JSONDecoder()
LONGEST_WORD = 6
"""Of JSON, as `\\u00e4`: a text that is cut within one is wrong so near its end."""
_SETTING = re.compile(r"^([A-Za-z]\w*)(?:\[\d+\])?\s*=\s*(.*)$", re.ASCII)


def given(text: str | None) -> str | None:
    """The text, or None for the words that stand for nothing (`Unknown`, `(null)`, ...)."""
    return None if text is None or text.strip() in NONE else text.strip()


def hosts(text: str) -> list[str]:
    """The nodes of `a100-[01-03,07],cpu1`, in order; none where it is no such list, or is of over `MOST_HOSTS`."""
    found: list[str] = []
    if re.search(r"[\[\]]", re.sub(r"\[[^\[\]]*\]", "", text)):
        return []
    for part in _split(text):
        pieces = re.split(r"\[([^\]]*)\]", part)
        choices = [_numbers(piece) if i % 2 else [piece] for i, piece in enumerate(pieces)]
        if not all(choices) or math.prod(map(len, choices)) + len(found) > MOST_HOSTS:
            return []
        found += ["".join(chosen) for chosen in itertools.product(*choices)]
    return found if all(map(str.isprintable, found)) else []


def _split(text: str) -> Iterator[str]:
    """The parts between commas that stand in no brackets."""
    for part in re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", text.strip()):
        if part.strip():
            yield part.strip()


def _numbers(text: str) -> list[str]:
    """`01-03,7` as 01, 02, 03 and 7."""
    found: list[str] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part.strip(), re.ASCII)
        if match is None or int(match[2] or match[1]) - int(match[1]) > MOST_HOSTS:
            return []
        first, last = match[1], match[2] or match[1]
        found += [f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]
    return found


def host_list(names: Sequence[str]) -> str:
    """Names in brief, `a100-[01-03,07],cpu1`: what `hosts` reads."""
    groups: dict[tuple[str, int], list[str]] = {}
    for name in names:
        match = re.search(r"\d{1,9}$", name)
        digits = match[0] if match else ""
        groups.setdefault((name[: len(name) - len(digits)], len(digits)), []).append(digits)
    return ",".join(_brief(stem, numbers) for (stem, _), numbers in groups.items())


def _brief(stem: str, numbers: Sequence[str]) -> str:
    if len(numbers) == 1:
        return stem + numbers[0]
    runs: list[list[str]] = []
    for number in sorted(set(numbers), key=int):
        if runs and int(number) == int(runs[-1][-1]) + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return f"{stem}[{','.join('-'.join(run) for run in runs)}]"


def resources(text: str) -> dict[str, float | None]:
    """`cpu=8,mem=32000M,gres/gpu:v100=2,gres/tmpdisk=2G` by name, memory in MB; None for what has no number."""
    found: dict[str, float | None] = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        name = name.lower()
        if name:
            read = megabytes if name == "mem" else count
            found[name] = read(value) if equals else None
    return found


def count(text: str) -> float | None:
    """A number below 2^64, also `2K` (2048)."""
    match = _COUNT.fullmatch(text.strip())
    found = math.inf if match is None else float(match[1]) * (1024.0**2 * _FACTOR[match[2]] if match[2] else 1.0)
    return found if found < MOST_64 else None


def megabytes(text: str) -> float | None:
    """`32000M`, `125G`, `62.50Gn` (a node) or `4000Mc` (a CPU) in MB; without a letter MB."""
    match = _SIZE.fullmatch(text.strip())
    found = math.inf if match is None else float(match[1]) * _FACTOR[match[2]]
    return found if found < MOST_64 else None


def gres(text: str) -> dict[str, int] | None:
    """`gpu:a100:8(S:0-1),gpu:1g.10gb:7,shard:4` as {type: number}; one without a type is called `gpu` or `shard`. None
    where a number cannot be read."""
    found: dict[str, int] = {}
    for part in re.sub(r"\([^)]*\)", "", given(text) or "").split(","):
        words = part.strip().removeprefix("gres/").removeprefix("gres:").replace("=", ":").split(":")
        kind = words[0].lower()
        if part and not kind[:1].isalpha():
            return None
        if kind not in ("gpu", "shard"):
            continue
        number = count(words[-1]) if len(words) > 1 else 1.0
        if number is None and (len(words) > 2 or not words[-1][:1].isalnum()):
            return None
        name = ":".join(words[1:] if number is None else words[1:-1]).lower() or kind
        name = "shard" if kind == "shard" else name
        found[name] = found.get(name, 0) + int(1 if number is None else number)
    return found


def gpus_by_type(text: str) -> dict[str, float | None]:
    """GPUs by type of a list of resources; `gpu` where no type is named, None where a number cannot be read."""
    found: dict[str, float | None] = {}
    for part in text.lower().split(","):
        name, _, value = part.strip().partition("=")
        kind, _, label = name.removeprefix("gres/").partition(":")
        if name.startswith("gres/") and kind in ("gpu", "shard"):
            number = float(value) if value.isascii() and value.isdigit() and len(value) < 10 else None
            found["shard" if kind == "shard" else label or kind] = number
    if len(found) > 1 and "shard" not in found:
        found.pop("gpu", None)  # the sum of the others
    return (
        {"shard": found["shard"]} if found.get("shard") else {k: v for k, v in found.items() if k != "shard" and v != 0}
    )


def allotted(cells: Mapping[str, str]) -> tuple[dict[str, int], dict[str, float | None]] | str:
    """GPUs by type and all resources of the first column that has some, or why they cannot be read."""
    alloc = resources(cells.get("AllocTRES", ""))
    for name in ("AllocTRES", "ReqTRES"):
        kinds = gpus_by_type(cells.get(name, ""))
        if any(number is None for number in kinds.values()):
            return f"the number of GPUs in {name} cannot be read"
        if kinds:
            return {kind: int(number or 0) for kind, number in kinds.items()}, alloc or resources(cells[name])
    nodes = int(count(cells.get("NNodes", "")) or 1)
    for name, times in (("AllocGRES", 1), ("ReqGRES", nodes)):  # of the job, and of each of its nodes
        if (found := gres(cells.get(name, ""))) is None:
            return f"the number of GPUs in {name} cannot be read"
        if found:
            return {kind: number * times for kind, number in found.items()}, alloc
    return {}, alloc or resources(cells.get("ReqTRES", ""))


def seconds(text: str) -> float | None:
    """`[D-]HH:MM:SS`, `MM:SS` or `D-HH[:MM]`; infinity for UNLIMITED; None for anything else."""
    text = text.strip()
    if text.upper() in ("UNLIMITED", "INFINITE"):
        return math.inf
    if match := _ELAPSED.fullmatch(text):
        days, hours, minutes, rest = (int(part or 0) for part in match.groups())
        return float(((days * 24 + hours) * 60 + minutes) * 60 + rest)
    if match := _DAYS.fullmatch(text):
        return float((int(match[1]) * 24 + int(match[2])) * 3600 + int(match[3] or 0) * 60)
    return None


def submitted(line: str) -> str:
    """Of a command what comes before the script: behind it are options of its own. A text with blanks, which sacct
    prints without quotes, ends it too."""
    words, at = line.partition("--wrap")[0].split(), 1
    while at < len(words) and words[at].startswith("-"):
        name, has_value, _ = words[at].partition("=")
        flag = _FLAGS.fullmatch(name) if name.startswith("--") else len(name) > 2 or name[1:] in _SHORT_FLAGS
        at += 1 if has_value or flag else 2
    return " ".join(words[:at])


def timestamp(text: str) -> float | None:
    """Seconds from `trace_file.EPOCH` to `YYYY-MM-DDTHH:MM:SS`, with or without a zone (`Z`, `+0100`), or to seconds
    since 1970; None for anything else. A time without a zone is as the clock on the wall shows it."""
    text = text.strip()
    if _EPOCH.fullmatch(text):
        found = (_UNIX - EPOCH).total_seconds() + int(text)
        return found if found >= 0 else None
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    try:
        when = datetime.fromisoformat(f"{match[1]} {match[2]}")
    except ValueError:
        return None
    zone = (match[3] or "Z").replace(":", "")
    if zone != "Z":
        when -= (1 if zone[0] == "+" else -1) * timedelta(hours=int(zone[1:3]), minutes=int(zone[3:5]))
    return (when - EPOCH).total_seconds()


def is_zoned(text: str) -> bool:
    """Whether a time says its zone, or is in seconds since 1970."""
    match = _TIME.fullmatch(text.strip())
    return bool(match[3]) if match else bool(_EPOCH.fullmatch(text.strip()))


def records(text: str) -> list[dict[str, str]]:
    """What `scontrol show nodes`, `partitions`, `reservations`, `topology` and slurm.conf have: keys in lower case.

    A record begins with its name; its further lines are indented. What stands before and between records is left. What
    slurm.conf says of a name DEFAULT is of those of its kind that follow; its State=UNKNOWN says nothing (that of
    `scontrol show nodes -o`, which counts CPUs, does).
    """
    found: list[dict[str, str]] = []
    defaults: dict[str, dict[str, str]] = {}
    going = False
    for line in text.replace("\\\n", " ").splitlines():
        line = re.sub(r"(^|\s)#.*", "", line) if not going else line
        if not line.strip():
            going = False
            continue
        pairs = {key.lower(): value.strip('"') for key, value in _PAIR.findall(line)}
        first = line.strip().partition("=")[0].lower()
        if first in _STARTS and not line[0].isspace():
            going = pairs.get(first, "").upper() != "DEFAULT"
            if going:
                found.append(defaults.get(first, {}) | pairs)
                if found[-1].get("state") == "UNKNOWN" and "cputot" not in found[-1]:
                    del found[-1]["state"]
            else:
                defaults.setdefault(first, {}).update(pairs)
        elif going and line[0].isspace():
            found[-1].update(pairs)
        else:
            going = False
    return found


def settings(text: str) -> dict[str, str]:
    """The lines `Key = value` of `scontrol show config` or slurm.conf; keys in lower case."""
    matches = (_SETTING.match(re.sub(r"(^|\s)#.*", "", line)) for line in text.splitlines())
    found = {match[1].lower(): match[2].strip() for match in matches if match}
    return {key: value for key, value in found.items() if key not in _STARTS}


def table(text: str) -> tuple[set[str], list[dict[str, str]]]:
    """The columns of a table, names in capitals, and its rows: between `|` (`-P`), or in words as `sinfo` prints them.

    Lines before the header (`sinfo -l` has a date there) and rows of another length are left out; words in excess are
    of the last column (a reason).
    """
    lines = [line for line in text.splitlines() if line.strip()]
    for start, line in enumerate(lines[:3]):
        bar = "|" in line
        if not bar and "NODELIST" not in line and "HOSTNAMES" not in line:
            continue
        header = _cells(line, bar)
        if bar and not header[-1]:  # -p: a bar ends each line
            lines, header = [each.rstrip().removesuffix("|") for each in lines], header[:-1]
        cells = (_cells(each, bar, len(header)) for each in lines[start + 1 :])
        names = [re.sub(r"\(.*\)", "", name).upper() for name in header]
        return set(names), [dict(zip(names, row, strict=True)) for row in cells if len(row) == len(names)]
    return set(), []


def _cells(line: str, bar: bool, most: int = 0) -> list[str]:
    return [cell.rstrip() for cell in (line.split("|") if bar else line.split(maxsplit=most - 1))]


def first_of(cells: Mapping[str, str], *names: str) -> str | None:
    """What the first of these columns has that has something."""
    return next((found for name in names if (found := given(cells.get(name)))), None)


def from_header(text: str, columns: Sequence[str]) -> tuple[str, list[int]]:
    """The text with the lines above that of these columns (errors, greetings) left blank, and which these are, from 1;
    as it is, where no line names them."""
    lines = text.split("\n")
    at = next((i for i, line in enumerate(lines) if {*columns} <= {*line.strip().split("|")}), 0)
    return "\n".join([*[""] * at, *lines[at:]]), [i for i, line in enumerate(lines[:at], start=1) if line.strip()]


def one_bar_a_column(text: str, columns: Sequence[str] = ()) -> str:
    """What `sacct` printed, with a header (columns, where it has none), without the bars that end lines (`-p`), and
    without those in a SubmitLine or in Constraints (`a|b`, here `a` OR `b`), which is seen where Priority would be no
    number."""
    lines = text.split("\n")
    at = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if columns:
        bar = "|" if lines[at].count("|") == len(columns) else ""
        lines[at] = "|".join(columns) + bar + "\n" + lines[at]
        lines = "\n".join(lines).split("\n")
    header = lines[at].strip()
    if header.endswith("|"):
        lines, header = [line.rstrip().removesuffix("|") for line in lines], header.removesuffix("|")
    names = header.split("|")
    return "\n".join([_joined(line, names) if line.count("|") >= len(names) else line for line in lines])


def _joined(line: str, names: Sequence[str]) -> str:
    """A line with more bars than there are columns."""
    cells = line.split("|")
    if "Constraints" in names and "Priority" in names[names.index("Constraints") :]:
        first, last = names.index("Constraints"), names.index("Priority")
        more = next((k for k in range(len(cells) - len(names) + 1) if cells[last + k].strip().isdigit()), 0)
        cells[first : first + more + 1] = [OR.join(cells[first : first + more + 1])]
    if names[-1] == "SubmitLine":
        cells[len(names) - 1 :] = [" ".join(cells[len(names) - 1 :])]
    return "|".join(cells)


def jobs_before_cut(text: str) -> list[Any]:
    """The whole jobs of the list in JSON whose end is missing; none where it is damaged otherwise, as what a reader
    would lose then is not to be known."""
    begin, jobs = _JOBS.search(text), list[Any]()
    at = begin.end() if begin else len(text)
    while not text.startswith("]", at):
        try:
            _, end = _DECODER.raw_decode(text, at)
            jobs.append(parse_json(text[at:end]))
        except json.JSONDecodeError as error:  # at the end, within its last word, or in a text without an end
            cut = error.pos > len(text.rstrip()) - LONGEST_WORD or error.msg.startswith("Unterminated")
            return jobs if cut else []
        except (ValueError, RecursionError):
            return []
        at = _COMMA.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing, too
    return jobs


def json_cells(job: Any) -> dict[str, str]:
    """One job of `sacct --json` (data parser 0.0.37 to 0.0.42) as the cells of a row; 0.0.38 prints a number that means
    nothing as the name of its reservation."""

    def number(value: Any) -> str:
        """A number, which newer versions wrap in an object."""
        if isinstance(value, dict):
            value = value.get("number") if value.get("set", True) and not value.get("infinite") else None
        return "" if value is None or isinstance(value, bool) else str(value)

    def listed(value: Any) -> str:
        return ",".join(map(str, value)) if isinstance(value, list) else str(value or "")

    def resources(found: Any) -> str:
        pairs = (("/".join(filter(None, (each["type"], each["name"]))), each["count"]) for each in found or ())
        return ",".join(f"{name}={value}" for name, value in pairs if value is not None)

    held: Mapping[str, Any] = job.get("reservation") or {}
    times, array, nodes = job["time"], job.get("array") or {}, number(job.get("allocation_nodes"))
    task, most = number(array.get("task_id")), number(array["limits"]["max"]["running"]["tasks"]) if array else ""
    of = number(array["job_id"]) if task else ""
    name = number(job["job_id"]) if of in ("", "0") else f"{of}_{task}"
    flags = listed(job.get("flags"))
    moments = {"Submit": "submission", "Eligible": "eligible", "Start": "start", "End": "end"}
    return {
        **{key: "" if number(times.get(word)) in ("", "0") else number(times[word]) for key, word in moments.items()},
        "JobID": name,
        "State": listed(job["state"]["current"]).partition(",")[0],
        "Reason": str(job["state"].get("reason") or ""),
        "ElapsedRaw": number(times["elapsed"]),
        "TimelimitRaw": number(times.get("limit")),
        "User": str(job.get("user") or (job.get("association") or {}).get("user") or ""),
        **{column: str(job.get(column.lower()) or "") for column in ("Account", "Partition", "QOS", "Constraints")},
        "NNodes": nodes,
        "NodeList": str(job.get("nodes") or ""),
        "Priority": number(job.get("priority")),
        "Reservation": str(held.get("name")) if isinstance(held.get("name"), str) else "",
        "NoName": str(held.get("id") or "") if isinstance(held.get("name"), int) and held["name"] else "",
        "Flags": "SchedBackfill" if "BACKFILL" in flags else "SchedMain" if "STARTED_ON_SCHED" in flags else "",
        "AllocTRES": resources(job["tres"].get("allocated")),
        "ReqTRES": resources(job["tres"].get("requested")),
        "SubmitLine": str(job.get("submit_line") or ""),
        "Throttle": f"--array=0%{most}" if most not in ("", "0") else "",
    }
