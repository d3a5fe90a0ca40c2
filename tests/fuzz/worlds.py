"""Random scenarios: whatever a scenario file may hold, small enough to run under every scheduler.

Each is drawn from its own number with numpy, so that a finding is repeated by that number alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.scenario.scenario import Scenario

Row = dict[str, Any]
MOST_JOBS = 8
IMPOSSIBLE = 0.05
"""Part of the worlds in which a job may be left that can run nowhere."""


def world(number: int) -> Scenario:
    """The random scenario of a number; the same number gives the same scenario."""
    made = Scenario.from_dict(_Draw(number).scenario(), f"world {number}")
    model = {job.name: job.model for job in made.jobs}
    fine = [held for held in made.running if made.table.on_nodes(model[held.job], held.gpus) > 0]
    return made if len(fine) == len(made.running) else made.replace(running=fine)


class _Draw:
    """One scenario's draws, in the order of the methods."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.rng = np.random.default_rng([number, 8])

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def one(self, *values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def whole(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def scenario(self) -> Row:
        self.types = [f"t{i}" for i in range(self.whole(1, 3))]
        nodes = self._nodes()
        self.total = sum(node["gpus"] * node["count"] for node in nodes)
        self.models = [f"m{i}" for i in range(self.whole(1, 4))]
        self.law = self.one("power", "power", "none")
        rows = self._throughputs()
        entities = [self._entity(i) for i in range(self.whole(1, 3))] if self.chance(0.3) else []
        self.entities = [entity["name"] for entity in entities]
        self.facts, self.priced = self.chance(0.6), self.chance(0.85)
        self.weights = self.one((1.0,), (0.5, 1.0, 4.0), (1e-3, 1.0, 1e3))
        jobs = [self._job(i) for i in range(self.whole(1, MOST_JOBS))]
        core: Row = {"restart": {"law": self.one("fixed", "log2"), "restart_s": self.one(0.0, 0.0, 5.0, 10.0, 90.0)}}
        scenario: Row = {
            "name": f"world {self.number}",
            "seed": self.whole(0, 1000),
            "cluster": {"accelerators": [self._accelerator(name) for name in self.types], "nodes": nodes},
            "jobs": jobs if self.chance(IMPOSSIBLE) else _runnable(jobs, rows, nodes, self.law),
            "throughputs": rows,
            "models": [self._model(name) for name in self.models] if self.facts or self.chance(0.3) else [],
            "entities": entities,
            "scaling": {"law": self.law, "efficiency": self.one(1.0, 0.9, 0.5)},
            "core": core,
        }
        if self.facts or self.chance(0.2):
            scenario["cluster"]["network_gbps"] = self.one(1.0, 25.0)
        if self.chance(0.4):
            core["space_sharing"] = True
            scenario["colocated"] = self._colocated(rows)
        if self.chance(0.5):
            core["checkpoint_s"] = self.one(1.0, 10.0, 60.0, 1000.0)
        if self.chance(0.4):
            endless = any(job["steps"] > 1e6 for job in jobs)
            core["faults"] = self._faults(nodes, drawn=not endless and self.chance(0.5))
        if self.chance(0.3):
            scenario["running"] = self._running(scenario["jobs"], nodes)
        return scenario

    def _accelerator(self, name: str) -> Row:
        found: Row = {"name": name}
        if self.priced or self.chance(0.5):
            found["price_per_hour"] = self.one(0.5, 2.5, 10.0) if self.priced else self.one(0.0, 0.5)
        if self.facts or self.chance(0.2):
            found |= {"memory_gb": self.one(4.0, 16.0), "tflops": self.one(10.0, 125.0)}
        if self.facts or self.chance(0.2):
            found |= {"pcie_scaling": self.one(0.5, 1.0), "link_gbps": self.one(10.0, 300.0)}
        return found

    def _nodes(self) -> list[Row]:
        kinds = [*self.types, *(self.one(*self.types) for _ in range(self.whole(0, 2)))]
        if self.chance(0.1):
            kinds = [self.types[-1]]  # a type that no node has
        return [
            {
                "name": f"n{i}",
                "accelerator": kind,
                "gpus": self.one(1, 1, 2, 2, 3, 4, 8),
                "count": self.one(1, 1, 2),
                "speed": self.one(1.0, 1.0, 1.0, 0.5, 1.25),
            }
            for i, kind in enumerate(kinds)
        ]

    def _throughputs(self) -> list[Row]:
        """For each model and type: one row, a full table, or one with gaps; spread gangs slower, faster or at 0."""
        rows: list[Row] = []
        for model in self.models:
            for kind in self.types:
                alone = self.one(0.0, 0.25, 1.0, 1.0, 3.0, 40.0)
                sizes = range(1, min(self.total, 8) + 1)
                listed = [size for size in sizes if size == 1 or self.chance(0.8)] if self.law == "none" else [1]
                gain, spread = self.one(1.0, 0.9, 0.4, 1.1), self.one(None, None, 0.0, 0.6, 1.2)
                sync_s = self.one(None, None, 0.0, 0.3)
                for size in listed:
                    row = {"model": model, "accelerator": kind, "gpus": size, "steps_per_s": alone * size**gain}
                    rows.append(row if sync_s is None else {**row, "sync_s": sync_s})
                    if spread is not None and size > 1:
                        rows.append({**row, "placement": "unconsolidated", "steps_per_s": row["steps_per_s"] * spread})
                    if size > 1 and self.chance(0.1):
                        rows.append({**row, "nodes": self.whole(1, 2), "steps_per_s": row["steps_per_s"] * 0.7})
        return rows

    def _entity(self, i: int) -> Row:
        quota = self.one(None, None, 0, 1, self.total)
        policy = self.one("fairness", "fifo")
        return {"name": f"e{i}", "weight": self.one(1.0, 0.5, 3.0), "policy": policy, "quota_gpus": quota}

    def _model(self, name: str) -> Row:
        found: Row = {"name": name, "parameters_gb": self.one(0.01, 0.5), "batch_size": self.one(16, 64)}
        if self.chance(0.7):
            found |= {"memory_gb": self.one(2.0, 2.0, 8.0), "model_gb": self.one(0.5, 2.0)}
        if self.facts or self.chance(0.3):
            found["load_s"] = self.one([[1.0, 0.1, 0.0]], [[0.8, 0.01, 0.002], [0.2, 0.1, 0.02]])
        if self.facts or self.chance(0.3):
            found |= {"size_class": self.one("S", "M", "L"), "dataset_class": self.one("S", "L")}
        return found

    def _job(self, i: int) -> Row:
        gpus = self.one(1, 1, 1, 2, 2, 3, 4, 8)
        steps = self.one(1.0, 7.5, 60.0, 300.0, 2000.0, 2000.0)
        if self.chance(0.03):
            steps = self.one(1e-6, 1e9)
        arrival_s = self.one(0.0, 0.0, 0.0, 60.0, 75.5, 360.0, 1000.0 / 3, 4000.0)
        job: Row = {"name": f"j{i}", "model": self.one(*self.models), "gpus": gpus, "steps": steps}
        job |= {"arrival_s": arrival_s, "weight": self.one(*self.weights)}
        if self.chance(0.3):
            job["gpu_choices"] = sorted({gpus, *(self.one(1, 2, 4, 8) for _ in range(2))})
        if self.chance(0.4):
            job["rewards"] = self._rewards()
        if self.chance(0.2):
            job["tasks_per_round"] = self.one(1, 2, 3, 5)
        if self.chance(0.2):
            job |= {"steps_done": steps * self.one(0.1, 0.999), "attained_s": self.one(10.0, 1e5)}
        if self.entities and self.chance(0.8):
            job["entity"] = self.one(*self.entities)
        if self.chance(0.3):
            job["user"] = self.one("u", "v")
        return job

    def _rewards(self) -> list[list[float]]:
        first_s = self.one(0.5, 1.0, 50.0, 600.0, 5000.0, 1e6)
        if self.chance(0.6):
            return [[first_s, self.one(1.0, 1.0, 10.0, 0.0)]]
        return [[first_s, 4.0], [first_s + 100.0, 2.0], [2 * first_s + 1000.0, self.one(1.0, 0.0)]]

    def _colocated(self, rows: list[Row]) -> list[Row]:
        """Speeds of pairs where both models have a row alone; slowed down, unhurt, or unable to share."""
        pairs = []
        for n, first in enumerate(rows):
            for second in rows[n:]:
                same_case = all(first.get(key) == second.get(key) for key in ("accelerator", "gpus"))
                plain = all("nodes" not in row and "placement" not in row for row in (first, second))
                if same_case and plain and self.chance(0.6):
                    slow = self.one(0.3, 0.6, 0.6, 1.0, 0.0)
                    with_slow = slow if first["model"] == second["model"] else self.one(0.3, 0.6, 1.0)
                    pairs.append(
                        {
                            "model": first["model"],
                            "with_model": second["model"],
                            "accelerator": first["accelerator"],
                            "gpus": first["gpus"],
                            "steps_per_s": first["steps_per_s"] * slow,
                            "with_steps_per_s": second["steps_per_s"] * with_slow,
                        }
                    )
        return pairs

    def _faults(self, nodes: list[Row], *, drawn: bool) -> Row:
        names = [f"{node['name']}-{i}" for node in nodes for i in range(node["count"])]
        outages = []
        for _ in range(self.whole(0, 3)):
            from_s = self.one(0.0, 30.0, 60.0, 360.0, 400.25)
            outages.append({"node": self.one(*names), "from_s": from_s, "to_s": from_s + self.one(0.5, 60.0, 1e3, 1e5)})
        means = {"mtbf_s": self.one(100.0, 1000.0, 1e4), "mttr_s": self.one(1.0, 50.0, 1000.0)}
        return {"list": outages, **(means if drawn else {})}

    def _running(self, jobs: list[Row], nodes: list[Row]) -> list[Row]:
        free = {f"{node['name']}-{i}": node["gpus"] for node in nodes for i in range(node["count"])}
        held = []
        for job in jobs:
            size = self.one(*job.get("gpu_choices", [job["gpus"]]))
            if job["arrival_s"] == 0 and sum(free.values()) >= size and self.chance(0.6):
                gpus = {}
                for node in self.rng.permutation(list(free)).tolist():
                    taken = min(free[node], size - sum(gpus.values()))
                    if taken > 0:
                        gpus[node] = taken
                        free[node] -= taken
                held.append({"job": job["name"], "gpus": gpus})
        return held


def _runnable(jobs: list[Row], rows: list[Row], nodes: list[Row], law: str) -> list[Row]:
    """The jobs that can run somewhere, also across types; the others made jobs of one GPU that can."""
    capacity: dict[str, int] = {}
    for node in nodes:
        capacity[node["accelerator"]] = capacity.get(node["accelerator"], 0) + node["gpus"] * node["count"]
    known = [row for row in rows if row["steps_per_s"] > 0 and row["accelerator"] in capacity and "nodes" not in row]
    alone = [row for row in known if row["gpus"] == 1]
    if not alone:
        return []
    kept = []
    for job in jobs:
        fits = (row for row in known if row["model"] == job["model"] and (law != "none" or row["gpus"] == job["gpus"]))
        if sum(capacity[kind] for kind in {row["accelerator"] for row in fits}) < job["gpus"]:
            job = {**job, "model": alone[0]["model"], "gpus": 1}
            job.pop("gpu_choices", None)
        kept.append(job)
    return kept
