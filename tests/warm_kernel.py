"""Kernels that begin with everything imported: a process imports once what all pages do, and forks for each of them.

`with serving(pages) as specification:` starts it; kernels of that specification see the folder, the environment and
the arguments they would see anyhow, and nothing of one another. One runs at a time.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

READY = "ready\n"
LATER = ("ipykernel.debugger", "highspy", "pandas.io.formats.style", "scipy.optimize", "scipy.special")
"""What kernels and pages import only when they come to it: a third of a second in each."""


@contextlib.contextmanager
def serving(pages: Sequence[Path]) -> Iterator[Path]:
    """Yield a folder for JUPYTER_PATH in which `python3` is a kernel of this kind; pages: notebooks whose imports."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "kernels", "python3")
        place.mkdir(parents=True)
        asked = [sys.executable, "-PS", __file__, str(place / "socket"), "-f", "{connection_file}"]
        made = {"argv": asked, "display_name": "Python 3", "language": "python"}
        (place / "kernel.json").write_text(json.dumps(made), encoding="utf-8")
        command = [sys.executable, "-P", __file__, str(place / "socket"), *map(str, pages)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forking:
            assert forking.stdout is not None and forking.stdout.readline() == READY
            try:
                yield Path(folder)
            finally:
                forking.terminate()


def imports(page: Path) -> str:
    """The import statements of a notebook, but of `widgets`: to ask for a lab starts a process."""
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    trees = [ast.parse("".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]
    found = [node for tree in trees for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return "\n".join(ast.unparse(node) for node in found if getattr(node, "module", "") != "widgets")


def fork_for_each(place: str, pages: list[str]) -> None:
    """Fork a kernel for each caller, which lives no longer than the caller, and whose end the caller sees."""
    from ipykernel.kernelapp import IPKernelApp

    import widgets
    from widgets.work import process

    for page in pages:
        exec(imports(Path(page)), {})
    for module in (*LATER, *(f"widgets.{module}" for module in widgets._MODULES.values())):
        importlib.import_module(module)
    with mock.patch.object(process.ProcessWork, "_start"):  # when it is asked first: the labs of most pages never ask
        process.process_work()
    assert threading.active_count() == 1, "what is forked holds no lock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen()
        sys.stdout.write(READY)
        sys.stdout.flush()
        while True:
            caller, _ = listening.accept()
            with caller, caller.makefile() as said:
                arguments, folder, environment = json.loads(said.readline())
                if child := os.fork():
                    while os.waitpid(child, os.WNOHANG) == (0, 0):  # until it is reaped its CPU time is nobody's
                        if select.select([caller], [], [], 0.05)[0]:
                            os.kill(child, signal.SIGKILL)
                    continue
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment, JPY_PARENT_PID=str(os.getppid()))
            IPKernelApp.launch_instance(argv=arguments)
            os._exit(0)


def ask(place: str, arguments: list[str]) -> None:
    """Have a kernel forked and wait until it has ended; it is told itself to stop, this process may not before."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(place)
        server.sendall(json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode() + b"\n")
        server.recv(1)


if __name__ == "__main__":
    (ask if "-f" in sys.argv else fork_for_each)(sys.argv[1], sys.argv[2:])
