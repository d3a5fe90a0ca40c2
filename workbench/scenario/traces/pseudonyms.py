"""Pseudonyms in the place of the names of users, accounts and jobs, and of paths: the same for the same key.

A key file is made where there is none, for its owner's eyes alone: `{"key": 64 hexadecimal digits, "names":
{pseudonym: what it stands for}}`. A pseudonym is the kind and the first letters of HMAC-SHA256(key, kind and name): who
has the file reads back what it stands for, others can neither read nor guess it. Names of nodes, partitions, qualities
of service and reservations stay.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.base.errors import InputError, Words, why
from workbench.base.files import parse_json
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.dropped_rows import ConversionSummary
from workbench.scenario.traces.slurm_site import NAMES, entity_name

EXPECTED = 'a key file: {"key": 64 hexadecimal digits, "names": {...}} that only its owner may read (chmod 600)'
KIND = {
    **dict.fromkeys(("user", "users", "uid", "owner", "operator"), "user"),
    **dict.fromkeys(("account", "accounts", "allowaccounts", "denyaccounts", "parent", "group", "gid"), "account"),
    **dict.fromkeys(("vc", "wckey", "project", "entity"), "account"),
    **dict.fromkeys(("jobname", "job_name"), "name"),
    **dict.fromkeys(("workdir", "submitline", "stdout", "stderr", "stdin", "container", "path"), "path"),
    **dict.fromkeys(("comment", "admincomment", "systemcomment", "command", "extra"), "path"),
}
"""Which attributes are names (small letters), and of what."""
PUBLIC = ("root", "ALL")
LETTERS = 8
REAL = "names of users and accounts are those of the log (--pseudonyms replaces them)"
REPLACED = "names of users, accounts and jobs, and paths, are pseudonyms"


@dataclass(slots=True)
class Pseudonyms:
    """The key, and what each pseudonym stands for."""

    key: bytes
    names: dict[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(self, kind: str, name: str) -> str:
        """The pseudonym of a name."""
        if name in PUBLIC:
            return name
        if (kind, name) not in self._known:
            digest = hmac.new(self.key, f"{kind}:{name}".encode(), hashlib.sha256).digest()
            text = base64.b32encode(digest).decode().lower().rstrip("=")
            found = next(
                each
                for size in range(LETTERS, len(text) + 1)
                if self.names.get(each := f"{kind}-{text[:size]}", name) == name
            )
            self.names[found], self._known[kind, name] = name, found
        return self._known[kind, name]


def read_keys(path: Path) -> Pseudonyms:
    """The keys of a file, new ones where there is none; raises InputError for another file, or one open to others."""
    if not path.exists():
        return Pseudonyms(secrets.token_bytes(32))
    try:
        open_to_others = os.name == "posix" and path.stat().st_mode & 0o077
        data = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"pseudonyms {path}", why(error), EXPECTED) from None
    names = data.get("names", {}) if isinstance(data, dict) else None
    key = str(data.get("key", "")) if isinstance(data, dict) else ""
    if not re.fullmatch(r"[0-9a-f]{64}", key) or not isinstance(names, dict):
        raise InputError(f"pseudonyms {path}", Words("another file"), EXPECTED)
    if open_to_others:
        raise InputError(f"pseudonyms {path}", Words("a file that others may read"), EXPECTED)
    return Pseudonyms(bytes.fromhex(key), {str(each): str(name) for each, name in names.items()})


def write_keys(path: Path, keys: Pseudonyms) -> None:
    """Write the file whole, for its owner alone; raises InputError where that cannot be done."""
    text = json.dumps({"key": keys.key.hex(), "names": dict(sorted(keys.names.items()))}, indent=1) + "\n"
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"pseudonyms {path}", why(error), "a folder that can be written into") from None


def pseudonymous(
    scenario: Scenario, summary: ConversionSummary, path: str | Path
) -> tuple[Scenario, ConversionSummary]:
    """Both without real names; the key file then has every pseudonym. The trace's file is called by its format alone.

    Raises InputError for a key file that is none.
    """
    keys = read_keys(Path(path))
    renamed: dict[tuple[str, str], str] = {}

    def named(attribute: str, text: str) -> str:
        kind = KIND[attribute.casefold().partition(" ")[0]]
        parts = text.split(",") if attribute in NAMES else [text]
        found = ",".join(keys.of(kind, part) if part else part for part in parts)
        renamed[attribute, text] = found
        return found

    jobs = []
    for job in scenario.jobs:
        more = {name: named(name, each) for name in ("user", "entity") if (each := getattr(job, name)) is not None}
        jobs.append({**job.model_dump(), **more, "attributes": _replaced(job.attributes, named)})
    entities = []
    for entity in scenario.entities:
        found = _replaced(entity.attributes, named)
        if found.get("kind") in ("user", "account"):
            found["name"] = found[found["kind"]]
        title = entity_name(found) if "kind" in found else named("entity", entity.name)
        entities.append({**entity.model_dump(), "name": title, "attributes": found})
    source = f"{summary.format} log"
    notes, assumed = (tuple(_without(note, renamed) for note in notes) for notes in (summary.notes, summary.assumed))
    description = f"{len(scenario.jobs)} jobs of a {source}"
    changed = scenario.replace(jobs=jobs, entities=entities, name=source, description=description)
    write_keys(Path(path), keys)
    return changed, replace(summary, source=source, notes=notes, assumed=assumed)


def _replaced(facts: Mapping[str, Any], named: Callable[[str, str], str]) -> dict[str, Any]:
    return {
        name: named(name, str(value)) if name.casefold().partition(" ")[0] in KIND else value
        for name, value in facts.items()
    }


def _without(note: str, renamed: Mapping[tuple[str, str], str]) -> str:
    """A note in which names stand behind their kinds (`user ada`)."""
    for (attribute, text), found in renamed.items():
        if f"{attribute} {text}" in note:
            note = re.sub(rf"\b{re.escape(attribute)} {re.escape(text)}(?!\w)", f"{attribute} {found}", note)
    return note
