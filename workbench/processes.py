"""Tasks in processes of their own. However a call ends, by Ctrl-C too, none of its processes is left behind.

Each process has a pipe to itself. With `concurrent.futures` all answers come through one pipe: when a process is ended
in the middle of an answer, whoever reads that pipe waits for the other half for ever.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from workbench.errors import Words, WorkbenchError

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def in_processes(
    function: Callable[[Task], Answer],
    tasks: Sequence[Task],
    workers: int,
    on_answer: Callable[[int, Answer], None] | None = None,
) -> list[Answer]:
    """`[function(task) for task in tasks]`, computed by `workers` (from 1) processes.

    function, tasks and answers must be picklable; on_answer is called here with a task's number as soon as it is done.

    Raises what `function` raises, for the task that failed first; WorkbenchError if a process ended by itself.
    """
    answers: dict[int, Answer] = {}
    processes: dict[Connection, BaseProcess] = {}
    try:
        with _undisturbed():
            for _ in range(min(workers, len(tasks))):
                _start(processes)
        left = iter(range(len(tasks)))
        busy: dict[Connection, int] = {}
        for pipe in processes:
            _send(pipe, processes[pipe], function)
            busy[pipe] = next(left)
            _send(pipe, processes[pipe], tasks[busy[pipe]])
        while busy:
            ready = wait(list(busy))
            for pipe in [pipe for pipe in busy if pipe in ready]:
                number = busy.pop(pipe)
                answers[number] = _answer(pipe, processes[pipe])
                following = next(left, None)
                if following is not None:
                    busy[pipe] = following
                    _send(pipe, processes[pipe], tasks[following])
                if on_answer is not None:
                    on_answer(number, answers[number])
        return [answers[number] for number in range(len(tasks))]
    finally:
        for process in processes.values():
            process.terminate()
        for pipe, process in processes.items():
            process.join()
            pipe.close()


def _start(processes: dict[Connection, BaseProcess]) -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    processes[ours] = process


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Processes started inside do not hear Ctrl-C, which a terminal sends to them too; their parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else the first process to start brings it up, which lets Ctrl-C in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
    code = process.exitcode or 0
    how = f"killed by signal {-code}" if code < 0 else f"ended with code {code}"
    return WorkbenchError("workers", Words(f"a process {how}"), "to end after its last task (is there memory enough?)")


def _serve(pipe: Connection) -> None:
    """The other side: one answer for each task, until the pipe is closed."""
    with contextlib.suppress(EOFError, BrokenPipeError):  # whoever asked is gone
        function = pipe.recv()
        while True:
            task = pipe.recv()
            try:
                answer = True, function(task)
            except Exception as error:
                answer = False, error
            pipe.send(answer)
