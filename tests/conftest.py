"""What every test may use: the folder of reference data, and how hard hypothesis tries."""

import gc
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

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

NEVER_MISSING = re.compile(r"chrom|browser|solver|highs|glpk|glpsol", re.IGNORECASE)


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


@pytest.fixture
def own() -> Iterator[None]:
    """Forget, when the test is over, the schedulers and formulations that it declared itself."""
    from workbench.session import registry

    kept = [(each, dict(each)) for each in (registry._OWN, registry._OWN_FORMULATIONS, registry._UNSCHEDULED)]
    yield
    for each, before in kept:
        each.clear()
        each.update(before)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of papers' data and reference cases: $WORKBENCH_SHARED, else ../shared beside the project."""
    folder = Path(os.environ.get("WORKBENCH_SHARED") or Path(__file__).parents[2] / "shared")
    if not folder.is_dir():
        pytest.skip("../shared is not beside the project")
    return folder
