"""A Slurm site as its own programs print it: nodes, partitions, limits, shares, settings, and when nodes were away.

Any of the files may be any of these; what a file is, is seen from its text:

    sinfo; sinfo -N -o "%N|%P|%G|%c|%m|%f|%T|%w"; sinfo --json        nodes and partitions
    scontrol show nodes, partitions, topology, reservation; slurm.conf   the same, racks, reservations, settings
    scontrol show config                                               settings
    sacctmgr -P show assoc (tree), sacctmgr -P show qos                limits and shares
    sshare -a -l -P                                                    usage so far
    sacctmgr -P show event                                             nodes that were down, drained or not there yet
    sacctmgr -P show reservation format=Name,Start,End,NodeNames,Flags   reservations, those that are over too

A node with GPUs of several types (MIG slices, shards), or one where jobs without GPUs ran beside, stands in the
scenario as several: `n1` for its first type, `n1/1g.10gb` and `n1/cpu` beside it (ours). Slots of `cpu` are CPUs.
What jobs share limits by becomes entities, with Slurm's own words as attributes; `kind` says what each is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from workbench.base.errors import InputError, Words, counted
from workbench.base.files import parse_json
from workbench.base.labels import listed
from workbench.base.text import MOST_LETTERS, is_name
from workbench.scenario.traces import builtin
from workbench.scenario.traces.slurm_text import (
    first_of,
    given,
    gres,
    host_list,
    hosts,
    is_zoned,
    megabytes,
    records,
    settings,
    table,
    timestamp,
)
from workbench.scenario.traces.slurm_values import (
    ASSOCIATION,
    CHANGES_NOTHING,
    CONFIG,
    GONE_BY,
    IGNORED,
    PARTITION,
    QOS,
    QOS_FLAGS,
    RESERVATION,
    RESERVATION_FLAGS,
    SHARES,
    has_gone,
    is_away,
    is_tres,
    parameters,
    readable,
    whole,
)
from workbench.scenario.traces.trace_file import number, read_any, source_name

CPU = "cpu"
"""The type whose slots are CPUs."""
EXPECTED = (
    "what sinfo, scontrol show nodes|partitions|config|reservation|topology, sacctmgr -P show assoc|qos|event|"
    "reservation or sshare -a -l -P prints, or slurm.conf"
)
MOST_SLOTS = 1024
"""Of a node in a scenario."""
NO_RESERVATIONS = "No reservations in the system"
"""What `scontrol show reservation` prints instead of nothing."""
NAMES = ("account", "parent", "user", "AllowAccounts", "DenyAccounts", "Accounts", "Users")
"""Attributes of entities that name people or their accounts."""


Found = TypeVar("Found")


class JobStart(NamedTuple):
    """That a job began on some nodes; until_s: the end of its time limit."""

    at_s: float
    until_s: float
    hosts: tuple[str, ...]
    reservation: str

    def runs_into(self, nodes: set[str], reservation: str, start_s: float) -> bool:
        """Whether Slurm would not have begun it had it known of this reservation."""
        return self.reservation != reservation and self.at_s < start_s < self.until_s and bool(nodes & {*self.hosts})


@dataclass(slots=True)
class SeenNode:
    """One machine: GPUs by type, and what a scheduler may want to know of it; away: down or drained when printed."""

    gres: dict[str, int] = field(default_factory=dict)
    cpus: int = 0
    memory_mb: float = 0.0
    features: str = ""
    partitions: list[str] = field(default_factory=list)
    weight: float | None = None
    rack: str = ""
    away: bool = False

    def attributes(self) -> dict[str, float | str]:
        """What is known, as attributes of a node."""
        found = {
            **texts("partitions", ",".join(self.partitions)),
            **texts("features", self.features),
            **texts("rack", self.rack),
            "cpus": self.cpus,
            "memory_mb": self.memory_mb,
            "weight": self.weight,
        }
        return {name: value for name, value in found.items() if value not in (None, "", 0)}


@dataclass(slots=True)
class Site:
    """All that the files say; moments in seconds from `trace_file.EPOCH`. entries: of entities, by kind and name;
    associations: those of accounts and users, by cluster; listed: from, to, and the nodes that the cluster had;
    nowhere: reservations of which a file does not say the nodes; everywhere: partitions of all nodes; ignored:
    settings that the scheduler slurm does not go by, and whose; unread: values that Slurm does not take, or that
    cannot be read; odd: rows of events that tell nothing, by why."""

    nodes: dict[str, SeenNode] = field(default_factory=dict)
    entries: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)
    absences: list[tuple[str, float, float]] = field(default_factory=list)
    listed: list[tuple[float, float, tuple[str, ...]]] = field(default_factory=list)
    associations: dict[str, dict[tuple[str, ...], dict[str, Any]]] = field(default_factory=dict)
    reservations: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    nowhere: list[tuple[str, str]] = field(default_factory=list)
    everywhere: list[str] = field(default_factory=list)
    zoned: set[bool] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    ignored: dict[str, list[str]] = field(default_factory=dict)
    unread: dict[str, list[str]] = field(default_factory=dict)
    odd: Counter[str] = field(default_factory=Counter)

    # Reading ---------------------------------------------------------------------------------------------------------

    def read(self, path: str | Path) -> None:
        """Take in one file, told by what it holds; raises InputError where it is none of those that are known."""
        text, _ = read_any(path, EXPECTED)
        if text.strip() == NO_RESERVATIONS:
            return
        found = self._json(text) if text.lstrip().startswith("{") else self._table(text) or self._records(text)
        if not found:
            raise InputError(source_name(path), Words("nothing that can be read"), EXPECTED)
        if text.startswith("Configuration data as of") and "\nSlurmctld(" not in text:
            self.notes.append(f"{Path(path).name} may have been cut: scontrol ends it with whether slurmctld is up")
        columns, rows = table(text)
        if columns and (cut := sum("|" in line for line in text.splitlines()) - 1 - len(rows)) > 0:
            self.notes.append(f"{counted(cut, 'line')} of {Path(path).name} left out, not as long as its header")

    def _read(self, whose: str, row: Mapping[str, str], keys: Sequence[str]) -> dict[str, float | str]:
        """`_kept`, but for what Slurm does not take, which is told: of a list of resources those, not the others."""
        kept = dict[str, str]()
        for key in keys:
            text = given(row.get(key.upper())) or ""
            parts = text.split(",") if is_tres(key) else [text]
            odd = [part for part in parts if part and not readable(key, part)]
            for part in odd:
                _add(self.unread, f"{key}={part}", whose)
            kept[key.upper()] = ",".join(part for part in parts if part not in odd)
        return _kept(kept, keys)

    def _first(
        self, whose: str, cells: Mapping[str, str], reader: Callable[[str], Found | None], *names: str
    ) -> Found | None:
        """What the first of these columns that has something says; where that cannot be read it is told."""
        name, text = next(((each, text) for each in names if (text := given(cells.get(each)))), ("", ""))
        found = reader(text) if text else None
        if text and found is None:
            _add(self.unread, f"{name}={text}", whose)
        return found

    def _hosts(self, whose: str, cells: Mapping[str, str], *names: str) -> list[str]:
        return self._first(whose, cells, lambda text: hosts(text) or None, *names) or []

    def _entry(self, kind: str, *names: str) -> dict[str, Any]:
        return self.entries.setdefault((kind, *names), {})

    def _json(self, text: str) -> bool:
        try:
            data = parse_json(text)
        except ValueError:
            return False
        rows = data.get("nodes") or data.get("sinfo") or () if isinstance(data, dict) else ()
        rows = [row for row in rows if isinstance(row, dict) and isinstance(row.get("name"), str)]
        for row in rows:
            kept = {key: ",".join(map(str, v)) if isinstance(v, list) else str(v) for key, v in row.items()}
            same = {**kept, "CPUS": kept.get("cpus", ""), "MEMORY": kept.get("real_memory", "")}
            same |= {"STATE": f"{kept.get('state', '')} {kept.get('state_flags', '')}"}
            partitions = kept.get("partitions", "").split(",")
            self._node(kept["name"], {**same, "GRES": kept.get("gres", "")}, [name for name in partitions if name])
        return bool(rows)

    def _node(self, name: str, cells: Mapping[str, str], partitions: Iterable[str]) -> None:
        """One node, as one of several tables has it (columns of `sinfo`, keys of `scontrol show nodes`)."""
        facts = self.nodes.setdefault(name, SeenNode())
        facts.partitions += [each for each in partitions if each not in facts.partitions]
        whose = f"node {name}"
        facts.gres = self._first(whose, cells, gres, "GRES", "gres") or facts.gres
        facts.cpus = int(self._first(whose, cells, whole, "CPUS", "cputot", "cpus") or facts.cpus)
        memory_mb = self._first(whose, cells, megabytes, "MEMORY", "realmemory", "real_memory")
        facts.memory_mb = memory_mb or facts.memory_mb
        names = ("ACTIVE_FEATURES", "AVAIL_FEATURES", "FEATURES", "activefeatures", "feature", "features")
        facts.features = first_of(cells, *names) or facts.features
        weight = self._first(whose, cells, whole, "WEIGHT", "weight")
        facts.weight = facts.weight if weight is None else weight
        away = self._first(whose, cells, is_away, "STATE", "state")
        facts.away = facts.away if away is None else away

    def _table(self, text: str) -> bool:
        columns, rows = table(text)
        if "JOBID" in columns:  # a log, or squeue's
            return False
        if columns & {"NODELIST", "HOSTNAMES"}:
            for row in rows:
                self._sinfo_row(row)
        elif {"NAME", "TIMESTART", "TIMEEND"} <= columns:
            self._reservations(rows)
        elif {"TIMESTART", "NODENAME"} <= columns:
            for row in rows:
                self._event(row)
        elif "RAWUSAGE" in columns:
            self._accounts(rows, SHARES)
        elif {"ACCOUNT", "USER"} <= columns and columns & {"SHARE", "GRPTRES", "MAXJOBS"}:
            self._accounts(rows, ASSOCIATION)
        elif "NAME" in columns and columns & {"GRACETIME", "USAGEFACTOR", "MAXTRESPU", "GRPTRES"}:
            for row in rows:
                self._entry("qos", row["NAME"]).update(self._read(f"qos {row['NAME']}", row, QOS))
                self._ignored("qos", row["NAME"], row, QOS)
                self._flags(row.get("FLAGS", ""), QOS_FLAGS, f"qos {row['NAME']}")
        else:
            return False
        return True

    def _reservations(self, rows: Sequence[Mapping[str, str]]) -> None:
        """As `sacctmgr show reservation` has them; without their nodes they keep none."""
        for row in rows:
            record = {"reservationname": row["NAME"], "starttime": row["TIMESTART"], "endtime": row["TIMEEND"]}
            record |= {"nodes": first_of(row, "NODENAME", "NODENAMES", "NODES") or "", "flags": row.get("FLAGS", "")}
            self._reservation(record)

    def _reservation(self, record: dict[str, str]) -> None:
        """One reservation, in the words of `scontrol`."""
        key = record["reservationname"], record.get("starttime", "")
        begin, end = (timestamp(record.get(name, "")) for name in ("starttime", "endtime"))
        if begin is None or end is None or end < begin:
            _add(self.unread, f"{key[1]} to {record.get('endtime', '')}", f"reservation {key[0]}")
        elif self._hosts(f"reservation {key[0]}", record, "nodes"):
            self.reservations[key] = record
        else:
            self.nowhere.append(key)
        self._flags(record.get("flags", ""), RESERVATION_FLAGS, f"reservation {key[0]}")

    def _sinfo_row(self, row: Mapping[str, str]) -> None:
        partition = (first_of(row, "PARTITION") or "").rstrip("*")
        if partition:
            self._entry("partition", partition).update(
                self._read(f"partition {partition}", {"MAXTIME": row.get("TIMELIMIT", "")}, PARTITION)
            )
        for name in self._hosts("sinfo", row, "NODELIST", "HOSTNAMES"):
            self._node(name, row, [partition] if partition else [])

    def _event(self, row: Mapping[str, str]) -> None:
        start, until, state = timestamp(row["TIMESTART"]), given(row.get("TIMEEND")), given(row.get("STATE"))
        stop = math.inf if until is None else timestamp(until)
        if start is None or stop is None:
            self.odd[f"without a time at which they {'begin' if start is None else 'end'}"] += 1
            return
        self.zoned.add(is_zoned(row["TIMESTART"]))
        if stop < start:
            self.odd["that end before they begin"] += 1
        elif state is not None and not has_gone(state):
            self.odd[f"in the state {state}, in which no node is away"] += 1
        elif names := self._hosts("event", row, "NODENAME"):
            self.absences += [(name, start, stop) for name in names]
        elif all_there := self._hosts("event", row, "CLUSTER NODES", "CLUSTERNODES"):
            self.listed.append((start, stop, tuple(all_there)))

    def _accounts(self, rows: Sequence[Mapping[str, str]], keys: Sequence[str]) -> None:
        """Associations, of users in accounts; where the accounts are indented (a tree), under which account each is."""
        above: list[tuple[int, str]] = []
        for row in rows:
            account, user = row["ACCOUNT"].strip(), row["USER"].strip()
            if not account:
                continue
            indent = len(row["ACCOUNT"]) - len(row["ACCOUNT"].lstrip())
            if not user:
                above = [each for each in above if each[0] < indent]
            parent = row.get("PARENTNAME", row.get("PAR NAME", "")).strip() or (above[-1][1] if above else "")
            key: tuple[str, ...]
            if user:
                key, found = ("user", user, account), {"user": user, "account": account}
            else:
                above.append((indent, account))
                key, found = ("account", account), {"account": account}
                found |= {"parent": parent} if parent and parent != account else {}
            entries = self.associations.setdefault(row.get("CLUSTER", "").strip(), {})
            entries.setdefault(key, {}).update(found | self._read(f"{key[0]} {user or account}", row, keys))
            self._ignored(key[0], user or account, row, ASSOCIATION)

    def _records(self, text: str) -> bool:
        found = records(text)
        for record in found:
            if "nodename" in record:
                partitions = [name for name in record.get("partitions", "").split(",") if given(name)]
                for name in self._hosts("nodes", record, "nodename"):
                    self._node(name, record, partitions)
            elif "reservationname" in record:
                self._reservation(record)
            elif "partitionname" in record:
                self._partition(record)
            elif "nodes" in record and not record.get("switches"):
                for name in self._hosts(f"switch {record['switchname']}", record, "nodes"):
                    self.nodes.setdefault(name, SeenNode()).rack = record["switchname"]
        known = settings(text)
        cells = {key.upper(): value for key, value in known.items()}
        is_config = bool({key.upper() for key in CONFIG} & cells.keys())
        if is_config:
            parts = cells.get("SCHEDULERPARAMETERS", "").split(",")
            odd = {name: value for name, value, amount in parameters(parts) if amount is None}
            good = [part for part in parts if part.strip().partition("=")[0].lower() not in odd]
            kept = self._read("", cells | {"SCHEDULERPARAMETERS": ",".join(good)}, CONFIG)
            for name, value in odd.items():
                _add(self.unread, f"{name}={value}")
            if known.get("accountingstorageenforce", "").lower() == "none":  # said, not left open
                kept["AccountingStorageEnforce"] = "none"
            self._entry("config", known.get("clustername", "slurm")).update(kept)
            self._ignored("config", "", cells)
            lists = ("PriorityFlags", "SchedulerParameters", "SelectTypeParameters")
            for part in (part for name in lists for part in known.get(name.lower(), "").split(",")):
                flag = part.strip().partition("=")[0]
                if not {flag, flag.upper(), flag.lower()} & GONE_BY and given(flag) is not None:
                    _add(self.ignored, part.strip())
        return bool(found or is_config)

    def _flags(self, text: str, names: Set[str], whose: str) -> None:
        """Note flags other than these, which the scheduler slurm goes by, or that change nothing."""
        for flag in dict.fromkeys(each for each in (given(text) or "").split(",") if each not in names):
            _add(self.ignored, f"Flags={flag}", whose)

    def _ignored(self, kind: str, name: str, cells: Mapping[str, str], read: Sequence[str] = ()) -> None:
        """Note what of an entity the scheduler slurm does not go by; read: with every limit that is none of these."""
        known = {each.upper() for each in (*read, *IGNORED[kind])}
        limits = [key for key in cells if read and key.startswith(("GRP", "MAX")) and key not in known]
        for setting in (*IGNORED[kind], *limits):
            text = (given(cells.get(setting.upper())) or "").removesuffix(" sec")
            word = text.lower().rpartition("/")[2] if setting != "Licenses" else text
            if word not in CHANGES_NOTHING and number(text) != 0:
                _add(self.ignored, f"{setting}={text}", f"{kind} {name}" if name else "")

    def _partition(self, record: Mapping[str, str]) -> None:
        name = record["partitionname"]
        cells = {key.upper(): value for key, value in record.items()}
        self._entry("partition", name).update(self._read(f"partition {name}", cells, PARTITION))
        self._ignored("partition", name, cells)
        if record.get("nodes", "").upper() == "ALL":
            self.everywhere.append(name)
            return
        for node in self._hosts(f"partition {name}", record, "nodes"):
            facts = self.nodes.setdefault(node, SeenNode())
            facts.partitions += [] if name in facts.partitions else [name]

    # What becomes of it ----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Once all files are read: the associations of the cluster that the settings name, of several, and nodes that
        came or went within the time that events tell of."""
        mine = {names[0] for kind, *names in self.entries if kind == "config"}
        known = [name for name in self.associations if name]
        if len(known) > 1:
            kept = next((name for name in known if name in mine), known[0])
            why = "ClusterName" if kept in mine else "the first: no file of settings says which is the log's"
            others = listed(name for name in known if name != kept)
            self.notes.append(f"limits and shares of the cluster {kept} ({why}), not of {others}")
            known = [kept]
        for name in ("", *known):
            for key, facts in self.associations.get(name, {}).items():
                self._entry(*key).update(facts)
        if lost := [name for name, start in dict.fromkeys(self.nowhere) if (name, start) not in self.reservations]:
            self.notes.append(
                f"reservations without the nodes that they kept (NodeNames), so they keep none: {listed(lost, 5)}"
            )
        there = {whose[0] for kind, *whose in self.entries if kind == "qos"}
        for (kind, *whose), facts in self.entries.items() if there else ():
            if kind == "partition" and (qos := str(facts.get("QoS", ""))) and qos not in there:
                _add(self.unread, f"QoS={qos}", f"partition {whose[0]}")
        for (name, _), record in self.reservations.items() if self.nodes else ():
            if absent := [each for each in hosts(record["nodes"]) if each not in self.nodes]:
                _add(self.unread, f"nodes={listed(absent, 3)}", f"reservation {name}")
        for node in self.nodes.values():
            node.partitions += [name for name in self.everywhere if name not in node.partitions]
        bare = [name for name, each in self.nodes.items() if not (each.gres or each.cpus or each.memory_mb)]
        if 0 < len(bare) < len(self.nodes):
            self.notes.append(
                f"{counted(len(bare), 'node')} without GPUs, CPUs or memory in any file: {listed(bare, 5)}"
            )
        if self.unread:
            what = f"{counted(len(self.unread), 'value')} that Slurm does not take, or that cannot be read, left out"
            self.notes.append(f"{what}: {listed(_told(self.unread), 12)}")
        if ghosts := {name for name, *_ in self.absences} - self.nodes.keys() if self.nodes else ():
            self.odd[f"of nodes that no file has ({listed(sorted(ghosts), 3)})"] += sum(
                name in ghosts for name, *_ in self.absences
            )
        if odd := [f"{some} {why}" for why, some in self.odd.items() if some]:
            self.notes.append(f"odd events: {listed(odd)}")
        if self.ignored:
            said = _told(self.ignored)
            self.notes.append(f"the scheduler slurm does not go by: {listed(said, len(said))}")
        for name in {each for *_, names in self.listed for each in names}:
            for start, stop, names in self.listed:
                if name not in names:
                    self.absences.append((name, start, stop))

    @property
    def has_rules(self) -> bool:
        """Whether a file tells of limits, shares or settings."""
        return any(kind in ("qos", "account", "user", "config") for kind, *_ in self.entries)

    def types(self, names: Iterable[str]) -> tuple[str, ...]:
        """The types of GPUs on these nodes, shards and slices too."""
        return tuple(dict.fromkeys(kind for name in names if name in self.nodes for kind in self.nodes[name].gres))

    def of_partition(self, partition: str) -> list[str]:
        """The nodes of a partition, of several (`big,small`) of any; of none all."""
        names = {*partition.split(",")}
        return [name for name, facts in self.nodes.items() if not partition or names.intersection(facts.partitions)]

    def parts(self, name: str, with_cpus: bool) -> dict[str, tuple[str, int]]:
        """The nodes of the scenario that a machine becomes: type and slots of each."""
        facts = self.nodes[name]
        found = {(f"{name}/{kind}" if i else name): (kind, most) for i, (kind, most) in enumerate(facts.gres.items())}
        if with_cpus and facts.cpus:
            found[f"{name}/{CPU}" if found else name] = (CPU, facts.cpus)
        return {each: (kind, most) for each, (kind, most) in found.items() if most >= 1}

    def cluster(self, used: set[str], with_cpus: set[str]) -> dict[str, Any]:
        """The cluster, as in a scenario file.

        used: machines on which jobs of the log ran; one that was away and is none of them is left out. with_cpus:
        machines, and partitions, of jobs without GPUs.
        """
        groups: dict[tuple[Any, ...], list[str]] = {}
        large = list[str]()
        gone = [name for name, facts in self.nodes.items() if facts.away and name not in used]
        for name, facts in self.nodes.items():
            if name in gone:
                continue
            attributes = tuple(facts.attributes().items())
            for part, (kind, most) in self.parts(name, bool(with_cpus & {*facts.partitions, name})).items():
                if most > MOST_SLOTS:
                    large.append(f"{most} of {part}")
                else:
                    groups.setdefault((kind, most, attributes, part[len(name) :]), []).append(part)
        if large:
            self.notes.append(f"more than {MOST_SLOTS} GPUs or CPUs of one node, left out: {listed(large, 5)}")
        if gone:
            self.notes.append(f"{counted(len(gone), 'node')} down or drained, without a job in the log: left out")
        nodes: list[dict[str, Any]] = []
        taken: set[str] = set()
        for (kind, most, attributes, suffix), names in groups.items():
            title = host_list([name.removesuffix(suffix) for name in names]) + suffix
            title = title if len(title) <= MOST_LETTERS and title not in taken else f"{kind} {len(nodes) + 1}"
            taken.add(title)
            group = {"name": title, "accelerator": kind, "gpus": most, "count": len(names), "hosts": names}
            nodes.append({**group, "attributes": dict(attributes)})
        kinds = dict.fromkeys(group["accelerator"] for group in nodes)
        return {"accelerators": [builtin.accelerator(kind) for kind in kinds], "nodes": nodes}

    def entities(self, begin_s: float, starts: Sequence[JobStart] = ()) -> list[dict[str, Any]]:
        """What jobs share limits by; reservations in seconds from the scenario's begin.

        Slurm does not print when a reservation was made: not before the last of `starts` on its nodes that would have
        run into it (`known_s`).
        """
        found = [{"kind": kind, "name": names[0], **facts} for (kind, *names), facts in self.entries.items()]
        for each in found:  # of all machines, those without GPUs too: job sizes are parts of them
            if each["kind"] == "config":
                each |= {"nodes": len(self.nodes), "cpus": sum(facts.cpus for facts in self.nodes.values())}
        for record in self.reservations.values():
            start, end = timestamp(record.get("starttime", "")), timestamp(record.get("endtime", ""))
            if start is not None and end is not None:
                facts = _kept({key.upper(): value for key, value in record.items()}, RESERVATION)
                times = {"start_s": start - begin_s, "end_s": end - begin_s}
                nodes, name = {*hosts(record.get("nodes", ""))}, record["reservationname"]
                into = [each.at_s for each in starts if each.runs_into(nodes, name, start)]
                times |= {"known_s": max(into) - begin_s} if into else {}
                found.append({"kind": "reservation", "name": name, **facts, **times})
        named = [(entity_name(each), each) for each in found if is_name(each["name"])]
        again = Counter[str]()
        for i, (name, each) in enumerate(named):
            again[name] += 1
            named[i] = (f"{name} {again[name]}" if again[name] > 1 else name, each)  # a reservation, at another time
        return [{"name": name, "attributes": each} for name, each in named]

    def outages(self, begin_s: float, end_s: float, nodes: Sequence[str]) -> list[dict[str, Any]]:
        """When nodes took no jobs, in seconds from the scenario's begin; what ran there has its recorded end anyway.

        One that is not known to have ended lasts to the end of the log. nodes: those of the scenario.
        """
        parts: dict[str, list[str]] = {}
        for node in nodes:
            parts.setdefault(node.partition("/")[0], []).append(node)
        found = []
        for name, start, end in self.absences:
            first, last = max(start, begin_s) - begin_s, min(end, end_s) - begin_s
            found += [(node, first, last) for node in parts.get(name, ()) if last > first]
        if away := len({node.partition("/")[0] for node, *_ in found}):
            self.notes.append(f"{counted(away, 'node')} down or drained for a time: nothing starts there then")
        return [{"node": node, "from_s": first, "to_s": last, "drain": True} for node, first, last in found]

    def unknown(self, partitions: Mapping[str, int], reservations: Mapping[str, int]) -> Iterator[str]:
        """Notes on jobs of partitions and reservations that no file knows."""
        known = {names[0] for kind, *names in self.entries if kind == "partition"}
        known |= {each for facts in self.nodes.values() for each in facts.partitions}
        if odd := [f"{name} ({some})" for name, some in partitions.items() if known and name not in known]:
            yield f"jobs of partitions that the site does not have, kept where they ran: {listed(odd, 5)}"
        reserved = {name for name, _ in self.reservations}
        if odd := [f"{name} ({some})" for name, some in reservations.items() if name not in reserved]:
            yield f"jobs of reservations that no file tells of, as if they named none: {listed(odd, 5)}"


def entity_name(attributes: Mapping[str, Any]) -> str:
    """What an entity is called: `qos high`, `account bio`, `user ada of bio`."""
    kind = attributes["kind"]
    if kind == "user":
        return f"user {attributes['user']} of {attributes['account']}"[:MOST_LETTERS]
    return f"{kind} {attributes.get('account') if kind == 'account' else attributes['name']}"[:MOST_LETTERS]


def texts(name: str, text: str) -> dict[str, float | str]:
    """A text as attributes, a list that is too long for one in several: `name`, `name 2`, ..."""
    found: list[str] = []
    for word in text.split(","):
        if found and len(found[-1]) + len(word) < MOST_LETTERS:
            found[-1] += f",{word}"
        elif word and is_name(word):
            found.append(word)
    return {(f"{name} {i + 1}" if i else name): part for i, part in enumerate(found)}


def _add(found: dict[str, list[str]], text: str, whose: str = "") -> None:
    """Note something of a file, and whose it is."""
    found.setdefault(text, []).extend([whose] if whose else [])


def _told(found: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{text} ({listed(dict.fromkeys(whose), 3)})" if whose else text for text, whose in found.items()]


def _kept(row: Mapping[str, str], keys: Sequence[str]) -> dict[str, float | str]:
    """The cells that say something, under Slurm's own names, numbers as numbers."""
    found: dict[str, float | str] = {}
    for key in keys:
        text = given(row.get(key.upper()))
        if text is not None:
            value = number(text)
            found |= texts(key, text) if value is None else {key: value}
    return found
