"""GPUs given out to one job after the other, to see who fits."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.scenario.job import Job
from workbench.scheduling.decision import Unit
from workbench.scheduling.placement import FreeGpus, Gpus
from workbench.scheduling.snapshot import Snapshot


class Trial:
    """GPUs given out to one job after the other, to see who fits.

    left: free GPUs per type; placed: who has which; refused: whether a job ran nowhere although its type had room;
    final: whether they get what they were given, rather than being placed anew together, large gangs first; blocked:
    whether who comes last in line could get nothing, and no draw would be made for it.
    """

    refused = final = blocked = False

    def __init__(self, snapshot: Snapshot, free_gpus: FreeGpus) -> None:
        self.snapshot, self.free_gpus, self.jobs = snapshot, free_gpus, snapshot.jobs.now
        self.left = free_gpus.left(len(snapshot.types))
        self.placed: dict[Unit, Gpus] = {}

    def take(self, row: int, kind: int, previous: Gpus | None = None) -> bool:
        """Give a job GPUs of a type, those it had where they are free; returns whether it fits."""
        job = self.jobs[row]
        gang = job.gpus
        if self.left[kind] < gang:
            return False
        found = self._place(job, gang, kind, self.free_gpus, previous)
        if found is None:
            self.refused = True
            return False
        self.placed[job.name] = found
        self.left[kind] -= gang
        return True

    def _place(self, job: Job, gang: int, kind: int, free_gpus: FreeGpus, previous: Gpus | None = None) -> Gpus | None:
        """GPUs as `workbench.scheduling.placement.place` finds them for one unit; None without any on which it runs."""
        if previous is not None and free_gpus.keep(kind, gang, previous):
            return previous
        found = free_gpus.consolidate(kind, gang)
        if found is not None and len(found) > 1 and not self.snapshot.belief.on_nodes(job, found) > 0:
            free_gpus.give_back(kind, found)
            return None
        return found

    def undo(self, row: int, kind: int) -> None:
        """Take back what `take` gave."""
        self._lend(kind, self.placed.pop(self.jobs[row].name))

    def fits(self, row: int, kind: int, free_gpus: FreeGpus) -> bool:
        """Whether a job would find GPUs of a type among others that are free, which stay as they are."""
        job = self.jobs[row]
        found = self._place(job, job.gpus, kind, free_gpus)
        if found is not None:
            free_gpus.lend(found)
        return found is not None

    def push(self, row: int, kind: int, behind: Sequence[Gpus], previous: Gpus | None) -> int:
        """Give a job GPUs of a type that those behind it hold; returns how many of them, the last first, make room.

        0, and nobody does, if it does not fit even then.
        """
        first = True
        for count, gpus in enumerate(reversed(behind), 1):
            self._lend(kind, gpus)
            if self.take(row, kind, previous):
                return count
            if first and self.left[kind] >= self.jobs[row].gpus:
                first = False
                if not self._would_fit(row, kind, behind[: len(behind) - count]):
                    break
        self._take_back(kind, behind[len(behind) - count :])
        return 0

    def _would_fit(self, row: int, kind: int, more: Sequence[Gpus]) -> bool:
        """Whether a job fits if more make room; spares trying one after the other in vain."""
        for gpus in more:
            self._lend(kind, gpus)
        fits = self.take(row, kind)
        if fits:
            self.undo(row, kind)
        self._take_back(kind, more)
        return fits

    def _lend(self, kind: int, gpus: Gpus) -> None:
        self.left[kind] += self.free_gpus.lend(gpus)

    def _take_back(self, kind: int, lent: Sequence[Gpus]) -> None:
        for gpus in lent:
            count = sum(gpus.values())
            self.free_gpus.keep(kind, count, gpus)
            self.left[kind] -= count
