"""Tasks in processes of their own. However a call ends, by Ctrl-C too, none of its processes is left behind.

Each process has a pipe to itself. With `concurrent.futures` all answers come through one pipe: when a process is ended
in the middle of an answer, whoever reads that pipe waits for the other half for ever.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from workbench.base.errors import Words, WorkbenchError

GRACE_S = 5.0
"""How long a process without a task has to end by itself; being ended, it could not give back what it holds."""

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def in_processes(
    function: Callable[[Task], Answer],
    tasks: Sequence[Task],
    processes: int,
    on_answer: Callable[[int, Answer], None] | None = None,
) -> list[Answer]:
    """`[function(task) for task in tasks]`, computed by so many `processes` (from 1).

    function, tasks and answers must be picklable; on_answer is called here with a task's number as soon as it is done.

    Raises what `function` raises, for the task that failed first; WorkbenchError if a process ended by itself.
    """
    with Processes(min(processes, len(tasks))) as made:
        return made.map(function, tasks, on_answer)


class Processes:
    """Processes that stay for one `map` after the other, until `close`. They begin with a call of `begin`."""

    def __init__(self, processes: int, begin: Callable[[], None] | None = None) -> None:
        """Start so many `processes` (from 0); begin must be picklable, as a function of a module is."""
        self._processes: dict[Connection, BaseProcess] = {}
        self._busy: dict[Connection, int] = {}  # the number of the task that each has
        try:
            with _undisturbed():
                for _ in range(processes):
                    _start(self._processes, begin)
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
        """As `in_processes`. If it raises, the processes are ended: some may still be busy."""
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
                _send(pipe, self._processes[pipe], (function, task))

        try:
            if not self._processes and next(left, None) is not None:
                raise ValueError("processes that were closed can do nothing")
            for pipe in self._processes:
                give(pipe)
            while busy:
                ready = wait(list(busy))
                for pipe in [pipe for pipe in busy if pipe in ready]:
                    number = busy.pop(pipe)
                    answer = _answer(pipe, self._processes[pipe])
                    give(pipe)
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
        self._processes, self._busy = {}, {}


def _start(processes: dict[Connection, BaseProcess], begin: Callable[[], None] | None) -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, begin), daemon=True)
    process.start()
    theirs.close()
    processes[ours] = process


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


def _send(pipe: Connection, process: BaseProcess, value: Any) -> None:
    try:
        pipe.send(value)
    except BrokenPipeError:
        raise _ended(process) from None


def _answer(pipe: Connection, process: BaseProcess) -> Any:
    try:
        done, value = pipe.recv()
    except (EOFError, OSError):  # nothing, or half of an answer
        raise _ended(process) from None
    if not done:
        raise value
    return value


def _ended(process: BaseProcess) -> WorkbenchError:
    process.join()
    found = Words(f"a process that {how_ended(process.exitcode or 0)}")
    return WorkbenchError("processes", found, "to end after its last task")


def how_ended(code: int) -> str:
    """How a process ended before its time, by its exit code as Python has it (negative: a signal)."""
    if code == -signal.SIGKILL:
        return "was ended by the system, most likely for want of memory"
    return f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"


def _serve(pipe: Connection, begin: Callable[[], None] | None) -> None:
    """The other side: one answer for each task, until the pipe is closed."""
    _name_no_locks()
    if begin is not None:
        begin()
    with contextlib.suppress(EOFError, ConnectionError):  # whoever asked is gone
        while True:
            function, task = pipe.recv()
            try:
                answer = True, function(task)
            except Exception as error:
                answer = False, error
            pipe.send(answer)


def _name_no_locks() -> None:
    """Locks made here from now on, as Pyomo makes one when it is imported, leave nothing behind in the system.

    A lock of a spawned process keeps a name there, for processes of its own to find it by. Who is ended with a task
    cannot take the name back, and Python warns of "leaked semaphore objects". Locks for forked processes have none, and
    ours start no others (daemons may not).
    """
    if "fork" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("fork", force=True)
