"""tools/shape counts what a made-up tree has."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from workbench.cli import new_paper

ROOT = Path(__file__).parents[1]
MOST_CRUMBS = 15
"""Modules under 90 lines with one importer: each is a concept of its own, or belongs into that importer."""

FILES = {
    "workbench/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from workbench.run import Run\n",
    "workbench/__main__.py": "from workbench.cli import main\n",
    "workbench/version.py": "VERSION = '1'\n",
    "workbench/loose.py": "def late():\n    from workbench.hidden import x\n",
    "workbench/hidden.py": "import workbench.session\n",
    "workbench/run.py": "class Run: ...\n",
    "workbench/base/__init__.py": "from workbench.base.units import HOUR_S\n",
    "workbench/base/units.py": "class Unit: ...\nclass _Own: ...\nHOUR_S = 3600\nWord = str | None\n",
    "workbench/base/long.py": "x = 1\n" * 90 + "Own = TypeVar('Own')\n_Word = int\n",
    "workbench/scenario/__init__.py": "from workbench.base.units import HOUR_S\nfrom workbench.base.long import x\n",
    "workbench/scenario/job.py": "from workbench.base import units\nfrom workbench.version import VERSION\n",
    "workbench/scheduling/knob.py": "import widgets.parts\nfrom workbench import run\nfrom workbench.loose import x\n",
    "workbench/scheduling/own.py": "from workbench import Run\nWord: TypeAlias = int\n",
    "workbench/simulation/core.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from workbench.cli import main\n"
        "else:\n    from workbench.session import load\n"
    ),
    "workbench/papers/one/__init__.py": "from workbench.papers.one.instance import Run\n",
    "workbench/papers/one/instance.py": "from ..two import scheduler\nclass Run:\n    class Unit: ...\n",
    "workbench/papers/one/lessons/toy.py": "",
    "workbench/papers/two/scheduler.py": "from workbench.baselines import fifo\n",
    "workbench/papers/two/telling.py": "",
    "workbench/baselines/fifo.py": "from workbench.papers.two import scheduler\n",
    "workbench/session/__init__.py": "Own = TypeVar('Own')\nHOUR_S = 60\n",
    "workbench/charts/__init__.py": "",
    "workbench/cli/__init__.py": "from workbench import Run\nfrom workbench.charts import x\n",
    "workbench/reproduction/__init__.py": "from workbench.papers.one.lessons.toy import x\nclass Run: ...\n",
    "widgets/parts.py": "class Unit: ...\n",
    "tests/test_x.py": "from workbench.papers.two.telling import x\n",
}


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shape", ROOT / "tools" / "shape.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_shape_of_a_tree(tool: ModuleType, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = tool.shape(tmp_path)
    assert found["rooms"] == [*tool.ROOMS[:7], "cli", "charts", "reproduction"]
    assert found["loose_modules"] == ["hidden", "loose", "run", "version"]
    assert found["violations"] == [
        "workbench/charts: unknown room",
        "workbench/reproduction: unknown room",
        "workbench/baselines/fifo.py imports workbench.papers.two.scheduler",
        "workbench/papers/one/instance.py imports workbench.papers.two.scheduler",
        "workbench/scheduling/knob.py imports widgets.parts",
        "workbench/scheduling/knob.py imports workbench.loose",
        "workbench/scheduling/own.py imports workbench",
        "workbench/simulation/core.py imports workbench.cli",
        "workbench/simulation/core.py imports workbench.session",
    ]
    assert found["small_with_one_importer"] == {
        "workbench/hidden.py": "workbench.loose",
        "workbench/loose.py": "workbench.scheduling.knob",
        "workbench/version.py": "workbench.scenario.job",
        "workbench/baselines/fifo.py": "workbench.papers.two.scheduler",
        "workbench/papers/one/instance.py": "workbench.papers.one",
        "workbench/papers/one/lessons/toy.py": "workbench.reproduction",
        "widgets/parts.py": "workbench.scheduling.knob",
    }
    assert (found["modules"], found["classes"]) == (17, 6)
    assert found["names_used_twice"] == {
        "Run": [
            "workbench/papers/one/instance.py:2",
            "workbench/reproduction/__init__.py:2",
            "workbench/run.py:1",
        ],
        "Unit": ["workbench/base/units.py:1", "widgets/parts.py:1"],
        "Word": ["workbench/base/units.py:4", "workbench/scheduling/own.py:2"],
    }
    assert found["paper_parts"] == {
        "one": {"__init__": True, "instance": True, "lessons": True},
        "two": {"scheduler": True, "telling": False},
    }
    ours = sum(t.count("\n") for name, t in FILES.items() if not name.startswith(("tests", "workbench/reproduction")))
    assert found["lines"] == {"workbench and widgets": ours, "tests": 1, "reproduction": 2}


def test_a_new_paper_keeps_the_shape_as_one_of_ours(tool: ModuleType, tmp_path: Path) -> None:
    """Its folder as it is written, in `workbench/papers/`: nothing in it has to be renamed."""
    for name, text in new_paper.FILES.items():
        if name.startswith("sixth/"):
            target = tmp_path / "workbench" / "papers" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    assert tool.violations(tmp_path) == []
    taken = {module.split(".")[0] for source in tool.read(tmp_path) for module, _ in source.taken}
    assert taken == {"__future__", "dataclasses", "numpy", "typing", "workbench"}


def test_this_project_keeps_its_shape(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nine rooms, the same parts in every paper's; one name for one thing; no crumbs."""
    said = []
    for options in ((), ("--json",)):
        monkeypatch.setattr("sys.argv", ["shape", *options])
        tool.main()
        said.append(capsys.readouterr().out)
    text, found = said[0], json.loads(said[1])
    papers = found["paper_parts"]
    assert papers and all(all(parts.values()) for parts in papers.values()), papers
    assert len(found["rooms"]) == 9 and len(found["loose_modules"]) <= 5, found["loose_modules"]
    assert found["violations"] == [] and found["names_used_twice"] == {}
    assert len(found["small_with_one_importer"]) <= MOST_CRUMBS, found["small_with_one_importer"]
    assert f"{found['modules']:6} modules" in text and f"{len(found['violations']):6} violations" in text
