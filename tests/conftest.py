"""What every test may use: the folder of reference data, how hard hypothesis tries, and which files come first."""

import gc
import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.browser_support"]

# Under CI the same examples every time, so that a red run can be repeated; elsewhere new ones each time.
# `make test-long` tries more: `many` of every property, `long` of those that have tests of their own there.
settings.register_profile(
    "default",
    max_examples=15,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("many", settings.get_profile("default"), max_examples=200, derandomize=False)
settings.register_profile("long", settings.get_profile("default"), max_examples=2000, derandomize=False)
settings.load_profile("default")

# Two workers beside each other: the threads of a system of a hundred rows cost a hundred times what it takes to solve.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell starts what runs in the background with Ctrl-C ignored, and so would be every program that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # until all tests are collected: to search so many objects again and again took a third of that time

TOGETHER = ("tests/reproduction",)
LONGEST = (
    "browser",
    "tests/test_notebooks.py",
    *TOGETHER,
    "tests/cli/test_streams.py",
    "tests/test_run_cases.py",
    "tests/fuzz/test_fuzz.py",
    "tests/test_benchmarks.py",
    "tests/test_dashboard.py",
    "tests/test_contributing.py",
    "tests/cli/test_lessons.py",
    "tests/test_docs_questions.py",
    "tests/baselines/slurm/test_log_a.py",
)
"""They come first, in this order. pytest-xdist goes on with the files of most tests, and would end with these."""

NEVER_MISSING = re.compile(r"chrom|browser|solver|highs|glpk|glpsol", re.IGNORECASE)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each file to one worker, so that what its tests share is made once, and begin with what takes longest.

    All `test_..._browser.py` are one unit, for one server and one browser, and so is each folder of `TOGETHER`.
    pytest-xdist's own `loadgroup` would not do: 3.8 writes a test's group into an attribute of its name that pytest
    9.2 no longer reads, and then spreads groups over all workers without a word.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if file.endswith("_browser.py"):
                return "browser"
            return next((folder for folder in TOGETHER if file.startswith(f"{folder}/")), file)

        def _assign_work_unit(self, node: Any) -> None:
            for unit in reversed([unit for unit in LONGEST if unit in self.workqueue]):
                self.workqueue.move_to_end(unit, last=False)
            super()._assign_work_unit(node)

    return ByFile(config, log)


class Backwards(pytest.Dir):
    """A folder collected from its end, so that two workers rewrite the asserts of half of the files each."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        return reversed(list(super().collect()))


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Dir | None:
    """Every other worker begins at the end: it finds what those before it have rewritten, half of the files."""
    odd = os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579"
    return Backwards.from_parent(parent, path=path) if odd else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests in one order, whoever collected them."""
    items.sort(key=lambda item: item.path)


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but not among what stays for as long as the tests run."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Fail, under CI, a test that skips itself because a browser or a solver is missing."""
    report = yield
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if NEVER_MISSING.search(reason):
            report.outcome = "failed"
            report.longrepr = f"With CI set, nothing is left out for want of a browser or a solver: {reason}"
    return report


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Collect no garbage while a test interrupts itself: in a callback of the collector Ctrl-C is lost, and hypothesis
    has one."""
    gc.disable()
    yield
    gc.enable()


def forgetting() -> Iterator[None]:
    """Forget afterwards the schedulers and formulations that were declared meanwhile."""
    from workbench.session import registry

    kept = [(each, dict(each)) for each in (registry._OWN, registry._OWN_FORMULATIONS, registry._UNSCHEDULED)]
    yield
    for each, before in kept:
        each.clear()
        each.update(before)


own = pytest.fixture(autouse=True)(forgetting)
own_of_module = pytest.fixture(autouse=True, scope="module")(forgetting)
"""Nothing is declared when a module is imported: which tests others are made of would depend on what came before."""


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of papers' data and reference cases: $WORKBENCH_SHARED, else ../shared beside the project."""
    folder = Path(os.environ.get("WORKBENCH_SHARED") or Path(__file__).parents[2] / "shared")
    if not folder.is_dir():
        pytest.skip("../shared is not beside the project")
    return folder


@pytest.fixture
def same_as_golden(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Any, str], None]:
    """Asserts that a Pyomo model says what the LP file of that name beside the test says; compared by meaning."""
    from pyomo.repn.tests.lp_diff import load_and_compare_lp_baseline

    def compare(model: Any, name: str) -> None:
        written = tmp_path / "model.lp"
        model.write(str(written), io_options={"symbolic_solver_labels": True})
        expected, got = load_and_compare_lp_baseline(str(request.path.with_name(name)), str(written))
        assert got == expected

    return compare
