"""`lessons` leaves solutions out, `grade` judges notebooks that may do nothing else."""

import ast
import csv
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from unittest import mock

import nbformat
import pytest

from workbench.cli import lessons
from workbench.cli.lessons import without_solutions

DEFINED = """
def doubled(n):
    return 2 * n

def near(answer, n):
    return abs(answer - 2 * n) < 1e-9

twice = Exercise("Twice?", near, case=lambda rng: rng.randint(2, 900), hint="Add.",
                 solution=doubled, because="Two of it, (really).")
times, seen = 3, 1
triple = Exercise("A function?", lambda f, n: f(n) == 3 * n, case=lambda rng: rng.randint(2, 900),
                  solution=lambda n: (lambda m: times * m + seen - seen), every=True, hint="Add twice.", name="triple")
once = Exercise("One?", lambda answer: answer == 1, hint="One.", because="One.", solution=1)
once
"""
ANSWERS = ["twice.answer(...)", "triple.answer(...)", "once.answer(...)"]


def notebook(path, *cells):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    nbformat.write(made, path)
    return path


def page(path, *answers, more="", defined=DEFINED):
    first = 'from widgets import Exercise\nExercise.student("=Ada")'
    return notebook(path, first, defined, *answers, "1 / 0", more, "Exercise.progress()")


def test_solutions_are_cut_out():
    cut = without_solutions(DEFINED)
    ast.parse(cut)
    assert (
        "solution" not in cut
        and "because" not in cut
        and "doubled" not in cut
        and "times" not in cut
        and "really" not in cut
    )
    assert cut.count("Exercise(") == 3 and "def near" in cut and 'name="triple"' in cut and cut.endswith("once\n")
    assert without_solutions("x = 1  # solution=") == "x = 1  # solution="
    one = without_solutions("e = Exercise('é?', bool, solution='ü', hint='h')")
    assert one == "e = Exercise('é?', bool, hint='h')"


def test_copies_of_the_lessons(ask, refused, tmp_path):
    made = ask("lessons", "--for", "students", tmp_path / "s")
    assert len(made["files"]) == len(list((tmp_path / "s").glob("*.ipynb"))) >= 11
    for path in (tmp_path / "s").glob("*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        asked = [cell.source for cell in cells if cell.cell_type == "code" and "Exercise(" in cell.source]
        assert not any(word in source for source in asked for word in ("solution=", "because=")), path.name
    code, _, said = refused("lessons", "--for", "students", tmp_path / "s")
    assert code == 2 and "00_start_here" in said
    assert refused("lessons", "--for", "teachers", tmp_path / "t", "--from", tmp_path)[0] == 2


def test_grades(ask, refused, tmp_path):
    """Two of three solved; a wrong answer; one that holds for the own instance alone; the teacher's checks."""
    two = page(tmp_path / "two.ipynb", "twice.answer(2 * twice.case)", "triple.answer(lambda n: 3 * n)", ANSWERS[2])
    loose = DEFINED.replace("abs(answer - 2 * n) < 1e-9", "True").replace("answer == 1", "True")
    own = "triple.answer(lambda n: 3 * triple.case)"
    cheats = page(tmp_path / "cheats.ipynb", "twice.answer(7.5)", own, "once.answer(2)", defined=loose)
    lesson = page(tmp_path / "lesson.ipynb", *ANSWERS)
    with mock.patch.object(subprocess, "Popen", wraps=subprocess.Popen) as started:
        found = ask("grade", two, cheats, "--lesson", lesson, "--seed", "s", "-o", tmp_path / "g.csv")["grades"]
    assert started.call_count == 3, "one for each notebook, one for all answers that are data"
    assert [(row["solved"], row["exercises"], row["reason"]) for row in found] == [
        (2, 3, "code cell 6 ended in ZeroDivisionError: division by zero"),
        (0, 3, "code cell 6 ended in ZeroDivisionError: division by zero"),
    ]
    rows = list(csv.DictReader((tmp_path / "g.csv").open()))
    assert rows[0]["which"] == "exercise 1; triple" and rows[0]["student"] == "'=Ada"
    assert refused("grade", two, "-o", tmp_path / "g.csv")[0] == 2


def test_a_notebook_that_changes_its_checks_or_its_grade(ask, tmp_path):
    """Answers that are data are judged where no student's code runs."""
    patched = "Exercise.judged = lambda self, value, case: (True, 'Right.')\ntwice.answer(1)\nonce.answer(3)"
    told = {"student": "Eve", "failed": ""}
    told["exercises"] = {name: {"solved": True, "said": "", "answered": "5"} for name in ("exercise 1", "once")}
    forged = f"import json, os\nfor place in range(3, 20):\n    try: os.write(place, {json.dumps(told)!r}.encode())\n"
    forged += "    except OSError: pass\nos._exit(0)"
    broken = "import os\nfor place in range(3, 20):\n    try: os.write(place, b'{\"exercises\": 1}')\n"
    broken += "    except OSError: pass\nos._exit(0)"
    texts = enumerate((patched, forged, broken))
    pages = [page(tmp_path / f"{n}.ipynb", text, *ANSWERS[1:2]) for n, text in texts]
    lesson = page(tmp_path / "lesson.ipynb", *ANSWERS)
    found = ask("grade", *pages, "--lesson", lesson, "-o", tmp_path / "g.csv")["grades"]
    assert [row["solved"] for row in found] == [0, 0, 0], found
    assert found[2]["reason"] == "it ended itself"


REFUSED = {
    "reads /etc/passwd, which is outside": "open('/etc/passwd').read()",
    "writes {outside}, which is outside": "open('{outside}', 'w').write('x')",
    "changes {outside}, which is outside": "import os; os.mkdir('{outside}')",
    "starts another process": "!true",
    "sends a signal to another process": "import os; os.kill(os.getppid(), 0)",
    "still runs after": "while True:\n    pass",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_a_notebook_may_not_do(ask, tmp_path, reason):
    outside = str(tmp_path / "outside")
    solved = "from widgets import Exercise\none = Exercise('?', bool, hint='h')\none.answer(1)"
    made = notebook(tmp_path / "n.ipynb", solved, REFUSED[reason].replace("{outside}", outside))
    limit = 3 if "still" in reason else 120
    (row,) = ask("grade", made, "--limit", limit, "-o", tmp_path / "g.csv")["grades"]
    assert row["solved"] == 0 and not (tmp_path / "outside").exists()
    assert reason.replace("{outside}", outside) in row["reason"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_grade_that_is_ended_leaves_neither_process_nor_folder(tmp_path, number):
    """It is ended once the notebook runs, whose folder then has a file of its own."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    endless = "import os\nopen('pid.txt', 'w').write(str(os.getpid()) + ' ')\nwhile True:\n    pass"
    made = notebook(tmp_path / "n.ipynb", endless)
    command = [sys.executable, "-m", "workbench", "grade", str(made), "-o", str(tmp_path / "g.csv")]
    with subprocess.Popen(
        command,
        env=os.environ | {"TMPDIR": str(scratch)},
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # under nohup it would be ignored
    ) as grade:
        while not (text := "".join(path.read_text() for path in scratch.glob("*/pid.txt"))).endswith(" "):
            assert grade.poll() is None
            time.sleep(0.05)
        grade.send_signal(number)
        assert grade.wait() == (130 if number == signal.SIGINT else 128 + number)
    with pytest.raises(ProcessLookupError):
        os.kill(int(text), 0)
    assert [*scratch.iterdir()] == [] and not (tmp_path / "g.csv").exists()


def test_a_hang_up_that_is_ignored_ends_no_grade_and_a_thread_may_grade(ask, tmp_path):
    made, before, found = notebook(tmp_path / "n.ipynb", "1"), signal.signal(signal.SIGHUP, signal.SIG_IGN), []
    try:
        with lessons._leaving_nothing():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    thread = threading.Thread(target=lambda: found.extend(ask("grade", made, "-o", tmp_path / "g.csv")["grades"]))
    thread.start()
    thread.join()
    assert len(found) == 1


LANDLOCK = "import ctypes\nlibc = ctypes.CDLL(None)\n"


@pytest.mark.skipif(ctypes.CDLL(None).syscall(444, None, 0, 1) < 1, reason="this system has no Landlock")
def test_compiled_code_is_held_by_the_kernel(ask, tmp_path):
    tried = [f"libc.creat({str(path).encode()!r}, 0o600) < 0" for path in (tmp_path / "outside", "inside")]
    asked = (
        "from widgets import Exercise\nout, into = (Exercise('?', lambda a: a is True, hint='h', name=n) for n in 'oi')"
    )
    answered = [LANDLOCK + f"out.answer({tried[0]})", LANDLOCK + f"into.answer(not ({tried[1]}))"]
    (row,) = ask("grade", notebook(tmp_path / "n.ipynb", asked, *answered), "-o", tmp_path / "g.csv")["grades"]
    assert row["which"] == "o; i" and not (tmp_path / "outside").exists()
