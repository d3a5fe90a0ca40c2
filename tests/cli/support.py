"""What the tests of the command line share."""

import json
import subprocess
import sys

CLUSTER = "v100=8x1,p100=16x1,k80=24x1"


def strict(text):
    """The one JSON value in a text; NaN and infinities are no JSON."""

    def no(word):
        raise AssertionError(word)

    return json.loads(text, parse_constant=no)


def program(*argv, **options):
    """A command as a program of its own."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([sys.executable, "-m", "workbench", *map(str, argv)], **options)
