"""Tasks in processes: answers in order, failures told, nobody left behind."""

import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from workbench.base.errors import InputError, WorkbenchError
from workbench.base.processes import Processes

LARGE = 10_000_000
"""Bytes of an answer: far more than a pipe holds, so that a process spends its time in the middle of one."""


def square(number: int) -> int:
    return number * number


def refuse_three(number: int) -> int:
    if number == 3:
        raise InputError("number", number, "any but 3")
    return number


def die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def say_much(folder: Path, number: int) -> bytes:
    (folder / str(number)).touch()
    return bytes(LARGE)


@pytest.fixture(autouse=True)
def nobody_is_left():
    before = set(multiprocessing.active_children())
    yield
    assert set(multiprocessing.active_children()) <= before


@pytest.mark.parametrize(("tasks", "workers"), [(7, 1), (7, 2), (2, 3)])
def test_answers_come_in_the_order_of_the_tasks(tasks, workers):
    heard = []
    with Processes(workers) as made:
        found = made.map(square, range(tasks), lambda number, answer: heard.append((number, answer)))
    assert found == [0, 1, 4, 9, 16, 25, 36][:tasks]
    assert sorted(heard) == list(enumerate(found))


class Large:
    """Says how often it was pickled."""

    times = 0

    def __getstate__(self):
        type(self).times += 1
        return {}


def same(task: tuple[int, Large]) -> tuple[int, int, Large]:
    return task[0], id(task[1]), task[1]


def test_what_tasks_share_goes_once_and_comes_back_as_it_was():
    shared, Large.times = [Large() for _ in range(7)], 0
    tasks = [(number, each) for each in shared for number in range(3)]
    tasks += [(3, shared[0]), (4, shared[4]), (5, shared[1])]  # the middle one is pushed out unread
    with Processes(1, once=Large) as pool:
        found = pool.map(same, tasks)
        again = pool.map(same, [(6, shared[0])])
    assert [(number, each) for number, _, each in found + again] == [*tasks, (6, shared[0])]
    assert Large.times == 9  # the first two were no longer held when they came again
    assert found[0][1] == found[2][1] and found[-3][1] == again[0][1]
    with Processes(1) as pool:
        assert pool.map(same, [(0, shared[0])])[0][2] is not shared[0]


def test_without_tasks_nothing_is_started():
    assert Processes(0).map(square, []) == []


def test_an_error_of_the_function_is_raised_as_it_is():
    with pytest.raises(InputError, match="number: got 3; expected any but 3"):
        Processes(2).map(refuse_three, range(6))


def test_a_process_that_is_killed_is_told():
    with pytest.raises(WorkbenchError, match="workers: got a process that was ended by the system, most likely"):
        Processes(2).map(die, range(4))


def test_stopping_in_the_middle_of_a_large_answer_does_not_wait_for_the_rest(tmp_path):
    """The other process is blocked halfway through its answer, which nobody reads."""

    def stop(number: int, answer: bytes) -> None:
        time.sleep(0.5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Processes(2).map(functools.partial(say_much, tmp_path), range(50), stop)
    assert len(list(tmp_path.iterdir())) <= 4, "two at work, two answered"


def nap(number: int) -> int:
    time.sleep(0.1)
    return number


def nap_long() -> None:
    Processes(2).map(nap, range(10_000))


def test_they_end_by_themselves_when_whoever_asked_is_killed():
    parent = multiprocessing.get_context("spawn").Process(target=nap_long)
    parent.start()
    until = time.monotonic() + 60
    children: list[psutil.Process] = []
    while len(children) < 2 and time.monotonic() < until:
        time.sleep(0.05)
        children = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.join()
    assert len(children) == 2 and psutil.wait_procs(children, timeout=30)[1] == []


WITH_LOCKS = """
import multiprocessing, time
from workbench.base.processes import Processes

KEPT = []

def lock(number):
    KEPT.append(multiprocessing.Lock())  # as Pyomo does when it is imported
    time.sleep(0 if number < 2 else 600)
    return number

if __name__ == "__main__":
    try:
        Processes(2).map(lock, range(4), lambda number, answer: print(number, flush=True))
    except KeyboardInterrupt:
        pass
"""


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C as a signal is for Unix")
def test_locks_of_processes_that_are_ended_are_not_left_in_the_system(tmp_path):
    """Else Python's resource tracker says on stderr how many semaphores it found after Ctrl-C."""
    (tmp_path / "with_locks.py").write_text(WITH_LOCKS)
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, str(tmp_path / "with_locks.py")], stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None
    assert {process.stdout.readline(), process.stdout.readline()} == {"0\n", "1\n"}  # one of each process
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


def note_begin() -> None:
    os.environ["TEST_PROCESSES_BEGUN"] = "yes"


def begun(_: int) -> tuple[str | None, int]:
    return os.environ.get("TEST_PROCESSES_BEGUN"), os.getpid()


def test_a_pool_keeps_its_processes_and_begins_each_with_a_call():
    with Processes(2, note_begin) as kept:
        first, second = kept.map(begun, range(8)), kept.map(begun, range(8))
        assert kept.alive
    assert {said for said, _ in first + second} == {"yes"} and "TEST_PROCESSES_BEGUN" not in os.environ
    assert len({number for _, number in first + second}) <= 2
    assert not kept.alive


def test_a_pool_that_failed_is_closed():
    kept = Processes(2)
    with pytest.raises(InputError):
        kept.map(refuse_three, range(6))
    assert not kept.alive
    with pytest.raises(ValueError, match="closed"):
        kept.map(square, [1])


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_waits_until_every_process_has_begun(monkeypatch):
    """Else one that is given half a beginning complains of it. Another thread takes the signal that this one blocks."""
    begun = []

    def start(workers, begin, once):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        begun.append(begin)

    monkeypatch.setattr("workbench.base.processes._start", start)
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            Processes(2)
    finally:
        end.set()
        thread.join()
    assert begun == [None, None]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_script_that_starts_processes_at_its_top_is_told_so_once(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from workbench.base.processes import Processes\n"
        "with Processes(2) as processes:\n"
        "    processes.map(abs, [1, 2])\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "bootstrapping" not in done.stderr
    assert done.stderr.count("Traceback") == 1
    said = "workers: got a script that starts them at its top, which each of them reads too; expected `if __name__"
    assert said in done.stderr.splitlines()[-1]
