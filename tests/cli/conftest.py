"""Running commands: in this process, with and without `--json`, and those that must fail."""

import pytest

from tests.cli.support import strict
from workbench.cli import main


@pytest.fixture
def cli(capsys):
    """Run a command in this process; returns (code, stdout, stderr)."""

    def run(*argv):
        code = main([str(part) for part in argv])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


@pytest.fixture
def ask(cli):
    """Run a command with --json that must succeed; returns the value."""

    def run(*argv):
        code, out, err = cli(*argv, "--json")
        assert code == 0, err
        return strict(out)

    return run


@pytest.fixture
def refused(cli):
    """Run a command that must fail, with and without --json; returns (code, status, error)."""

    def run(*argv):
        code, out, err = cli(*argv)
        assert out == ""
        assert err.startswith("error: ")
        assert " got 'nothing'" not in err
        again, out, brief = cli(*argv, "--json")
        answer = strict(out)
        assert brief == f"error: {answer['error']['where']}\n"  # the JSON says the rest
        assert again == code
        assert set(answer) - {"problems"} == {"status", "error"}
        assert set(answer["error"]) == {"where", "value", "expected"}
        return code, answer["status"], " ".join(str(part) for part in answer["error"].values())

    return run
