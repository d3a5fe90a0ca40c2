"""Where a lab's work is done: the order of requests, Cancel, crashes, and no process left behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import psutil
import pytest
from ipykernel.thread import BaseThread
from jupyter_client.manager import start_new_kernel

import workbench
from tests.widgets.lab.support import until
from widgets.parts import startup
from widgets.work.process import ProcessWork
from widgets.work.thread import ThreadWork, aside
from widgets.work.workplace import Message
from workbench.base.errors import InputError
from workbench.scenario.presets import preset

# Answers at once what the real process answers after work: {"kind", "tag", "sleep", "do"}.
FAKE = """
import json, os, subprocess, sys, time
print("a stray line", flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request.get("do") == "die":
        sys.stderr.write("Segmentation fault, sort of\\n")
        sys.stderr.flush()
        os._exit(3)
    if request.get("do") == "child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print(json.dumps({"id": request["id"], "kind": "progress", "pid": child.pid}), flush=True)
    time.sleep(request.get("sleep", 0))
    print(json.dumps({"id": request["id"], "kind": "done", "tag": request.get("tag")}), flush=True)
"""


class Ear:
    """Collects messages, with the tag of the request."""

    def __init__(self) -> None:
        self.heard: list[Message] = []

    def __call__(self, message: Message) -> None:
        self.heard.append(message)

    def kinds(self) -> list[str]:
        return [m["kind"] for m in self.heard if m["kind"] != "progress"]

    def tags(self) -> list[Any]:
        return [m.get("tag") for m in self.heard if m["kind"] == "done"]


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[ProcessWork]:
    script = tmp_path / "fake.py"
    script.write_text(FAKE)
    work = ProcessWork((sys.executable, str(script)))
    yield work
    work.close()


def ask(tag: str, kind: str = "simulate", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "tag": tag, **more}


def pid(work: ProcessWork) -> int:
    assert work._process is not None
    return work._process.pid


def test_a_second_request_replaces_the_one_that_waits_and_no_other(fake: ProcessWork) -> None:
    async def story() -> None:
        ear = Ear()
        fake.submit(ask("first", sleep=0.3), ear)
        fake.submit(ask("second"), ear)
        fake.submit(ask("page", "describe"), ear)
        fake.submit(ask("third"), ear)
        await until(lambda: len(ear.heard) == 3)
        assert ear.tags() == ["first", "third", "page"]  # simulations before descriptions; "second" was replaced

    asyncio.run(story())


def test_two_labs_do_not_take_each_others_turn(fake: ProcessWork) -> None:
    async def story() -> None:
        one, two = Ear(), Ear()
        fake.submit(ask("1a", sleep=0.3), one, "one")
        fake.submit(ask("1b"), one, "one")
        fake.submit(ask("2"), two, "two")
        fake.submit(ask("1c"), one, "one")
        await until(lambda: len(one.heard) + len(two.heard) == 3)
        assert (one.tags(), two.tags()) == (["1a", "1c"], ["2"])
        fake.submit(ask("1d", sleep=0.3), one, "one")
        fake.submit(ask("2b"), two, "two")
        fake.cancel("two")
        assert two.kinds() == ["done", "cancelled"]
        await until(lambda: len(one.heard) == 3)  # the work for the other lab went on
        assert one.tags()[-1] == "1d"

    asyncio.run(story())


def test_cancel_ends_the_process_and_warms_up_another(fake: ProcessWork) -> None:
    async def story() -> None:
        ear, page = Ear(), Ear()
        before = pid(fake)
        fake.submit(ask("slow", do="child", sleep=60), ear)
        fake.submit(ask("page", "describe"), page)
        await until(lambda: ear.heard)
        child = psutil.Process(ear.heard[0]["pid"])
        began = time.monotonic()
        fake.cancel()
        assert time.monotonic() - began < 30, "the page does not wait for it"
        assert ear.kinds() == ["cancelled"] and page.kinds() == ["cancelled"]
        assert not psutil.pid_exists(before) and pid(fake) != before
        await until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
        fake.submit(ask("next"), ear)
        await until(lambda: ear.tags() == ["next"])
        fake.cancel()  # nothing to cancel: nothing happens
        assert ear.kinds() == ["cancelled", "done"]

    asyncio.run(story())


def test_who_asked_on_a_loop_that_is_closed_does_not_hold_up_the_next(fake: ProcessWork) -> None:
    gone, ear = Ear(), Ear()

    async def ask_and_go() -> None:
        fake.submit(ask("gone", sleep=60), gone)
        fake.submit(ask("never", "describe"), gone)

    async def story() -> None:
        fake.submit(ask("next"), ear)
        await until(lambda: ear.tags() == ["next"])

    asyncio.run(ask_and_go())
    asyncio.run(story())
    assert gone.heard == []


def test_a_crash_is_told_with_the_last_words_and_the_next_request_is_done(fake: ProcessWork) -> None:
    async def story() -> None:
        ear = Ear()
        fake.submit(ask("bad", do="die"), ear)
        fake.submit(ask("page", "describe"), ear)
        await until(lambda: len(ear.heard) == 2)
        error = ear.heard[0]
        assert error["status"] == "crashed"
        assert "code 3" in error["error"]["value"] and "Segmentation fault, sort of" in error["error"]["value"]
        assert ear.tags() == ["page"]
        os.kill(pid(fake), signal.SIGKILL)  # while idle
        await asyncio.sleep(0.2)
        fake.submit(ask("after"), ear)
        await until(lambda: ear.tags() == ["page", "after"])

    asyncio.run(story())


def test_closing_leaves_nothing_behind(fake: ProcessWork) -> None:
    number = pid(fake)
    fake.close()
    assert not psutil.pid_exists(number)


def test_a_simulation_in_the_process_is_the_same_run() -> None:
    scenario = preset("start_here")

    async def story() -> list[Message]:
        work, ear = ProcessWork(), Ear()
        try:
            request = {"kind": "simulate", "scenario": scenario.to_dict(), "scheduler": "las", "knobs": {}}
            work.submit(request, ear)
            await until(lambda: ear.kinds(), 60)
        finally:
            work.close()
        return ear.heard

    message = asyncio.run(story())[-1]
    assert message["run"] == workbench.simulate(scenario, "las") and message["wall_s"] > 0


PARENT = """
import time
from widgets.work.process import ProcessWork
work = ProcessWork()
print(work._process.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of Linux and macOS")
def test_the_worker_goes_when_the_kernel_is_killed(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, env=environment)
    assert parent.stdout is not None
    process = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    gone, alive = psutil.wait_procs([process], timeout=30)
    assert gone and not alive
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="a temporary file has no name on Linux and macOS")
def test_a_host_that_allows_no_process_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(OSError):
        ProcessWork((str(tmp_path / "no such program"),))
    assert list(tmp_path.iterdir()) == []


# ---- schedulers written in the notebook ----


def thread_request(name: str) -> dict[str, Any]:
    return {"kind": "simulate", "scenario": preset("start_here").to_dict(), "scheduler": name, "knobs": {}}


def test_an_own_scheduler_runs_in_a_thread() -> None:
    las = workbench.find_scheduler("las")

    @workbench.scheduler("mine")
    def decide(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        return las.decide(snapshot, memory, las.settle({}), rng)

    async def story() -> None:
        work, ear = ThreadWork(), Ear()
        work.submit(thread_request("mine"), ear)
        await until(lambda: ear.kinds())
        assert ear.kinds() == ["done"]
        assert ear.heard[-1]["run"].scheduler == "mine"

    asyncio.run(story())


def test_an_own_scheduler_is_told_the_speeds_of_an_estimator() -> None:
    believed: list[float] = []

    @workbench.scheduler("asks")
    def decide(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        believed.append(float(snapshot.belief.speeds(snapshot.jobs).max()))
        return workbench.find_scheduler("las").decide(snapshot, memory, workbench.find_scheduler("las").settle({}), rng)

    async def story() -> None:
        work, ear = ThreadWork(), Ear()
        work.submit({**thread_request("asks"), "belief": "pmi"}, ear)
        await until(lambda: ear.kinds())
        assert ear.kinds() == ["done"] and ear.heard[-1]["belief"] == "pmi"
        told = [*believed]
        work.submit(thread_request("asks"), ear)
        await until(lambda: len(ear.kinds()) == 2)
        assert told[0] != believed[len(told)], "the first estimate is not the truth"
        assert ear.heard[-1]["errors"] is None
        work.submit({**thread_request("asks"), "belief": "nobody"}, ear)
        await until(lambda: len(ear.kinds()) == 3)
        assert ear.heard[-1]["error"]["where"] == "belief"

    asyncio.run(story())


def test_an_own_scheduler_can_be_cancelled_and_replaced() -> None:
    @workbench.scheduler("slow")
    def decide(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        time.sleep(0.02)
        return workbench.Decision(), None

    async def story() -> None:
        work, ear, second = ThreadWork(), Ear(), Ear()
        work.submit(thread_request("slow"), ear)
        await asyncio.sleep(0.1)
        work.submit(thread_request("las"), second)
        await until(lambda: second.kinds())
        assert ear.kinds() == ["cancelled"] and second.kinds() == ["done"]
        work.submit(thread_request("slow"), ear)
        await asyncio.sleep(0.1)
        work.cancel()
        await until(lambda: len(ear.kinds()) == 2)
        assert ear.kinds()[-1] == "cancelled"

    asyncio.run(story())


@pytest.mark.parametrize(("statement", "says"), [("1 / 0", "ZeroDivisionError: division by zero"), ("exit()", "Exit")])
def test_a_mistake_in_an_own_scheduler_is_one_line(statement: str, says: str) -> None:
    space: dict[str, Any] = {"workbench": workbench}
    source = f"""
    @workbench.scheduler("wrong")
    def decide(snapshot, memory, knobs, rng):
        {statement}
    """
    exec(compile(textwrap.dedent(source), "<cell>", "exec"), space)

    async def story() -> None:
        work, ear = ThreadWork(), Ear()
        work.submit(thread_request("wrong"), ear)
        await until(lambda: ear.kinds())
        error = ear.heard[-1]["error"]
        assert ear.kinds() == ["error"] and error["where"] == "scheduler wrong"
        assert says in error["value"] and "\n" not in error["value"]
        assert ("line 4 of decide" in error["value"]) == (statement == "1 / 0")

    asyncio.run(story())


def test_the_process_starts_before_the_lab_imports_its_libraries() -> None:
    """`scipy.stats` and the charts, seconds each, are no part of what a lab waits for."""
    code = """
import sys
import widgets.work.process
def started():
    print([name for name in ("pandas", "pyomo", "altair") if name in sys.modules])
widgets.work.process.process_work = started
from widgets import GavelLab
print([name for name in ("scipy.stats", "altair", "jsonschema") if name in sys.modules])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said = found.stdout.split("\n")  # an import asks for the name more than once
    assert len(said) >= 3 and (said[0], said[-2]) == ("[]", "[]")


# A widget that is told by a page to be something else, and a comm that the page has opened itself.
HEARING = """
import threading, ipywidgets, widgets
from widgets.parts.startup import hear_in_one_thread
hear_in_one_thread()  # as where widgets are loaded anew
heard = []
def hear(_):
    heard.append(threading.current_thread() is threading.main_thread())
box = ipywidgets.IntText()
box.observe(hear, "value")
get_ipython().kernel.comm_manager.register_target("page", lambda comm, _: (hear(_), comm.on_msg(hear)))
"""


def test_what_a_page_says_is_heard_in_one_thread() -> None:
    """However JupyterLab asks: from its second message on a widget would be heard in the thread of a subshell."""
    _, client = start_new_kernel()
    try:
        control = client.control_channel
        control.send(client.session.msg("create_subshell_request"))
        subshell = control.get_msg(timeout=60)["content"]["subshell_id"]
        asked = client.execute_interactive(HEARING, user_expressions={"id": "box.model_id"})["content"]
        box = asked["user_expressions"]["id"]["data"]["text/plain"].strip("'")
        updates = [{"method": "update", "state": {"value": value}} for value in (1, 2, 3)]
        said = [("comm_msg", {"comm_id": box, "data": data}) for data in updates]
        said += [("comm_open", {"comm_id": "its", "target_name": "page", "data": {}})]
        said += [("comm_msg", {"comm_id": "its", "data": {}})]
        for kind, content in said:
            message = client.session.msg(kind, content)
            message["header"]["subshell_id"] = subshell
            client.shell_channel.send(message)
            while (idle := client.get_iopub_msg(timeout=60))["content"].get("execution_state") != "idle":
                pass
            assert idle["parent_header"]["msg_id"] == message["header"]["msg_id"]
        told = client.execute_interactive("", user_expressions={"heard": "heard"})["content"]
        assert told["user_expressions"]["heard"]["data"]["text/plain"] == str([True] * len(said))

        # A notebook is closed while what it has said waits for a cell: the next cell's answer is its own.
        client.execute("import gc, time; time.sleep(1)")
        for number in range(2):
            message = client.session.msg("comm_open", {"comm_id": f"late {number}", "target_name": "page", "data": {}})
            message["header"]["subshell_id"] = subshell
            client.shell_channel.send(message)
        time.sleep(0.3)
        control.send(client.session.msg("delete_subshell_request", {"subshell_id": subshell}))
        assert control.get_msg(timeout=60)["content"]["status"] == "ok"
        assert client.execute_interactive("gc.collect()", timeout=20)["content"]["status"] == "ok"
        told = client.execute_interactive("", user_expressions={"heard": "heard"})["content"]
        assert told["user_expressions"]["heard"]["data"]["text/plain"] == str([True] * (len(said) + 2))
    finally:
        client.shutdown()


def test_a_subshell_answers_what_is_cancelled_and_ends_whatever_is_left_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "END_S", 3600.0)

    def cancelled(*_: object) -> None:
        raise asyncio.CancelledError

    async def story(broken: bool) -> None:
        kernel = SimpleNamespace(io_loop=SimpleNamespace(asyncio_loop=asyncio.get_running_loop()))
        thread: Any = BaseThread
        subshell = thread(daemon=True)
        subshell.start()
        here = subshell.io_loop.asyncio_loop
        heard = startup._hear(kernel, cancelled, None, None, {"header": {}})
        with pytest.raises(RuntimeError, match="cancelled"):
            await asyncio.wait_for(asyncio.wrap_future(asyncio.run_coroutine_threadsafe(heard, here)), 20)
        asyncio.run_coroutine_threadsafe(asyncio.sleep(3600), here)  # a cell's, which is not ours to end
        if broken:
            subshell.wb_waiting.add(None)
        subshell.stop()
        await asyncio.to_thread(subshell.join, 20)
        assert not subshell.is_alive()

    for broken in (False, True):
        asyncio.run(story(broken))


def test_work_aside_tells_answers_stated_failures_and_mistakes(capsys: Any) -> None:
    heard: list[Any] = []
    told = threading.Event()

    def hear(answer: Any) -> None:
        heard.append(answer)
        told.set()

    def mistake() -> int:
        raise ZeroDivisionError("by hand")

    def stated() -> int:
        raise InputError("a", 1, "2")

    ours = FunctionType(mistake.__code__, {"__name__": "widgets.work", "__builtins__": __builtins__})
    for work in (lambda: 7, stated, mistake, ours):
        told.clear()
        aside(work, hear)
        assert told.wait(10)
    assert heard[0] == 7 and isinstance(heard[1], InputError)
    assert re.fullmatch(r"lab \(.*test_work.py:\d+\): got .*by hand; expected no mistake in its code", str(heard[2]))
    assert "report it" in str(heard[3]) and capsys.readouterr().err.count("Traceback") == 1
