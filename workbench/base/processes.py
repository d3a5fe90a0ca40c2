"""Tasks in processes of their own. However a call ends, by Ctrl-C too, none of its processes is left behind.

What many tasks share goes to each process once, and comes back as the object that it was (`once`).

Each process has a pipe to itself. With `concurrent.futures` all answers come through one pipe: when a process is ended
in the middle of an answer, whoever reads that pipe waits for the other half for ever.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any, TypeVar

from workbench.base.collector import seldom_collected
from workbench.base.errors import Words, WorkbenchError

GRACE_S = 5.0
"""How long a process without a task has to end by itself; being ended, it could not give back what it holds."""

AT_ITS_TOP = 97
"""The exit code of a process that came, as it read the script that it is of, to where that starts processes."""

HELD = 4
"""So many of the objects that tasks share stay with each process, the latest ones."""

Once = type | tuple[type, ...]
Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Processes:
    """Processes that stay for one `map` after the other, until `close`. They begin with a call of `begin`."""

    def __init__(self, workers: int, begin: Callable[[], None] | None = None, once: Once = ()) -> None:
        """Start so many `workers` (from 0); begin must be picklable, as a function of a module is. once: objects of
        these classes go to a process with the first task that has them, not again with the next ones."""
        self._processes: dict[Connection, BaseProcess] = {}
        self._shared: dict[Connection, _Shared] = {}
        self._once = once
        self._busy: dict[Connection, int] = {}  # the number of the task that each has
        try:
            with _undisturbed():
                for _ in range(workers):
                    _start(self._processes, begin, once)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether it has processes and each is there still."""
        return bool(self._processes) and all(process.is_alive() for process in self._processes.values())

    def map(
        self,
        function: Callable[[Task], Answer],
        tasks: Sequence[Task],
        on_answer: Callable[[int, Answer], None] | None = None,
    ) -> list[Answer]:
        """`[function(task) for task in tasks]`; on_answer is called here with a task's number as soon as it is done.

        function, tasks and answers must be picklable. Raises what `function` raises, for the task that failed first;
        WorkbenchError if a process ended by itself. The processes are ended then: some may still be busy.
        """
        found: dict[int, Answer] = {}
        with contextlib.closing(self.answers(function, tasks)) as answers:
            for number, answer in answers:
                found[number] = answer
                if on_answer is not None:
                    on_answer(number, answer)
        return [found[number] for number in range(len(tasks))]

    def answers(
        self, function: Callable[[Task], Answer], tasks: Iterable[Task]
    ) -> Generator[tuple[int, Answer], None, None]:
        """Number and answer of each task as soon as it is done. The next task is taken when a process is free for it.

        If it raises, or is closed before its end, the processes are ended: some may still be busy.
        """
        left = enumerate(tasks)
        busy = self._busy

        def give(pipe: Connection) -> None:
            """The next task to a process, if there is one."""
            number, task = next(left, (None, None))
            if number is not None:
                busy[pipe] = number
                shared = self._shared.setdefault(pipe, _Shared(self._once, adds=True))
                _send(pipe, self._processes[pipe], shared.packed((function, task)))

        try:
            if not self._processes and next(left, None) is not None:
                raise ValueError("processes that were closed can do nothing")
            for pipe in self._processes:
                give(pipe)
            while busy:
                ready = wait(list(busy))
                for pipe in [pipe for pipe in busy if pipe in ready]:
                    number = busy.pop(pipe)
                    packed = _answer(pipe, self._processes[pipe])
                    asked = {**self._shared[pipe].held}  # of what the answer may name the next task pushes some out
                    give(pipe)  # it is at work again while its answer is read
                    done, answer = self._shared[pipe].unpacked(packed, asked)
                    if not done:
                        raise answer
                    yield number, answer
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the processes: those with a task at once, the others by themselves, as nothing more can come."""
        for pipe, process in self._processes.items():
            if pipe in self._busy:
                process.terminate()
            pipe.close()
        for process in self._processes.values():
            process.join(GRACE_S)
            process.terminate()
            process.join()
        self._processes, self._busy, self._shared = {}, {}, {}


def _start(workers: dict[Connection, BaseProcess], begin: Callable[[], None] | None, once: Once) -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, begin, once), daemon=True)
    try:
        process.start()
    except RuntimeError as error:
        if "bootstrapping phase" not in str(error):
            raise
        raise SystemExit(AT_ITS_TOP) from None  # who started this process says so, once
    theirs.close()
    workers[ours] = process


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Processes started inside do not hear Ctrl-C, which a terminal sends to them too; their parent ends them.

    Nor does it interrupt their start, as they would complain of half a beginning: it is raised at the end. That the
    signal is blocked does not suffice, for another thread, as numpy has them, may take it.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else the first process to start brings it up, which lets Ctrl-C in again
    main = threading.current_thread() is threading.main_thread()  # no other is interrupted
    heard: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: heard.append(number)) if main else None
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if main:
            signal.signal(signal.SIGINT, handler or signal.default_int_handler)
        if heard:
            signal.raise_signal(signal.SIGINT)


class _Shared:
    """The objects of some classes that both ends of a pipe hold, by number; the end that sends tasks adds them."""

    def __init__(self, once: Once, *, adds: bool) -> None:
        self.once, self._adds = once, adds
        self.held: dict[int, object] = {}
        self._added = 0

    def number(self, found: object) -> int | None:
        """The number of an object that is not sent again."""
        for known, held in self.held.items():
            if held is found:
                return known
        if not self._adds:
            return None
        self._added += 1
        self.held[self._added] = found
        return self._added

    def packed(self, value: object) -> bytes:
        """The value for the other end, with what that does not hold yet; what it is to hold on to, if that changes."""
        into, before = io.BytesIO(), {*self.held}
        _Packing(into, self).dump(value)
        fresh = {number: each for number, each in self.held.items() if number not in before}
        if self._adds:
            self.held = {number: self.held[number] for number in [*self.held][-HELD:]}
        return bytes(ForkingPickler.dumps((fresh, [*self.held] if self._adds else None, into.getvalue())))

    def unpacked(self, packed: bytes, held: dict[int, object] | None = None) -> Any:
        """What the other end packed; held: what was held then, where that has changed since."""
        fresh, kept, value = ForkingPickler.loads(packed)
        self.held.update(fresh)
        _reading.held = self.held if held is None else held
        found = ForkingPickler.loads(value)
        if kept is not None:
            self.held = {number: self.held[number] for number in kept}
        return found


_reading = threading.local()
"""`held`: what the end that reads now holds."""


def _one_held(number: int) -> object:
    found: object = _reading.held[number]
    return found


class _Packing(ForkingPickler):
    """As a pipe packs, but for what is held: of that the number."""

    def __init__(self, into: io.BytesIO, shared: _Shared) -> None:
        super().__init__(into)
        self._shared = shared

    def reducer_override(self, found: object) -> Any:
        number = self._shared.number(found) if isinstance(found, self._shared.once) else None
        return NotImplemented if number is None else (_one_held, (number,))


def _send(pipe: Connection, process: BaseProcess, packed: bytes) -> None:
    try:
        pipe.send_bytes(packed)
    except BrokenPipeError:
        raise _ended(process) from None


def _answer(pipe: Connection, process: BaseProcess) -> bytes:
    try:
        return pipe.recv_bytes()
    except (EOFError, OSError):  # nothing, or half of an answer
        raise _ended(process) from None


def _ended(process: BaseProcess) -> WorkbenchError:
    process.join()
    if process.exitcode == AT_ITS_TOP:
        found = Words("a script that starts them at its top, which each of them reads too")
        return WorkbenchError("workers", found, '`if __name__ == "__main__":` before that, and that under it')
    found = Words(f"a process that {how_ended(process.exitcode or 0)}")
    return WorkbenchError("workers", found, "to end after its last task")


def how_ended(code: int) -> str:
    """How a process ended before its time, by its exit code as Python has it (negative: a signal)."""
    if code == -signal.SIGKILL:
        return "was ended by the system, most likely for want of memory"
    return f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"


def _serve(pipe: Connection, begin: Callable[[], None] | None, once: Once) -> None:
    """The other side: one answer for each task, until the pipe is closed."""
    _name_no_locks()
    if begin is not None:
        begin()
    shared = _Shared(once, adds=False)
    with seldom_collected(), contextlib.suppress(EOFError, ConnectionError):  # whoever asked is gone
        while True:
            function, task = shared.unpacked(pipe.recv_bytes())
            try:
                answer = True, function(task)
            except Exception as error:
                answer = False, error
            pipe.send_bytes(shared.packed(answer))


def _name_no_locks() -> None:
    """Locks made here from now on, as Pyomo makes one when it is imported, leave nothing behind in the system.

    A lock of a spawned process keeps a name there, for processes of its own to find it by. Who is ended with a task
    cannot take the name back, and Python warns of "leaked semaphore objects". Locks for forked processes have none, and
    ours start no others (daemons may not).
    """
    if "fork" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("fork", force=True)
