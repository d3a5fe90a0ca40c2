"""The command line: `python -m workbench COMMAND`, also `workbench COMMAND`. Thin: every command calls the library.

Exit codes: 0 done, 1 a stated failure, 2 bad input, 130 Ctrl-C. With `--json` stdout carries one JSON value and nothing
else, a failure included (all of it: stderr then only says where). Messages for people go to stderr. Modules are
imported by the command that needs them.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from types import FrameType

from workbench.base.collector import seldom_collected
from workbench.base.error_origin import line_of
from workbench.base.errors import InputError, Words, WorkbenchError, why
from workbench.base.text import on_one_line
from workbench.cli import calibrate, describe, explain, lessons, make, new_paper, report, simulate, solve, sweep, verify
from workbench.cli.arguments import Parser
from workbench.cli.output import Answer, UnwrittenAnswer, say, show, silence
from workbench.version import VERSION

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    as_json = "--json" in argv
    with _Interrupts() as interrupts, seldom_collected():
        code = _guarded(argv, as_json, interrupts)
    if interrupts.came and code != INTERRUPTED:
        # Some library took Ctrl-C for an error of its own.
        return INTERRUPTED
    return code


def _parser() -> Parser:
    parser = Parser(
        prog="workbench",
        description="Scheduling formulations for deep-learning GPU clusters, side by side on one simulation core.",
        epilog="SCENARIO is a file, - (standard input) or preset:NAME. `workbench COMMAND --help` tells more.",
    )
    parser.add_argument("--version", action="version", version=f"workbench {VERSION}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    describe.add_commands(commands)
    solve.add_commands(commands)
    simulate.add_commands(commands)
    explain.add_commands(commands)
    sweep.add_commands(commands)
    report.add_commands(commands)
    calibrate.add_commands(commands)
    verify.add_commands(commands)
    make.add_commands(commands)
    new_paper.add_commands(commands)
    lessons.add_commands(commands)
    return parser


def _guarded(argv: Sequence[str], as_json: bool, interrupts: _Interrupts) -> int:
    """Run the command and print its answer; whatever goes wrong becomes a message and a code."""
    try:
        try:
            args, unknown = _parser().parse_known_args(argv)
            if unknown:
                args.parser.refuse(unknown)
            try:
                answer = args.command(args)
            except Exception as error:
                if interrupts.came:  # a module of C that was being imported, for one, is then said to be missing
                    raise KeyboardInterrupt from error
                if isinstance(error, InputError):
                    raise args.parser.naming_options(error, args) from None
                raise
            show(answer, args.json)
            return answer.exit_code if isinstance(answer, Answer) else 0
        except UnwrittenAnswer as error:
            return _stated(error, as_json=False)
        except WorkbenchError as error:
            return _stated(error, as_json)
        except KeyboardInterrupt:
            say("interrupted")
            return _failed(INTERRUPTED, _failure("interrupted", Words("Ctrl-C"), "to run to the end"), as_json)
        except BrokenPipeError:
            raise
        except OSError as error:
            where = "files" if error.filename is None else str(error.filename)
            return _stated(WorkbenchError(where, why(error), "to read and write"), as_json)
        except Exception as error:
            return _internal(error, as_json)
    except BrokenPipeError:
        # Whoever read our output has had enough. Nothing more may be written, not even at exit.
        silence()
        return 0
    except UnwrittenAnswer as error:  # an error that could not be told as JSON
        return _stated(error, as_json=False)
    except SystemExit as end:  # --help, --version
        return end.code if isinstance(end.code, int) else 0


def _stated(error: WorkbenchError, as_json: bool) -> int:
    """A failure with a message of its own; the JSON holds it, so that stderr need not repeat it."""
    say(f"error: {error.where}" if as_json else f"error: {error}")
    return _failed(error.exit_code, error, as_json)


def _internal(error: Exception, as_json: bool) -> int:
    """A fault of ours, or of the room that was asked: one line, and with `python -X dev` where it happened."""
    if sys.flags.dev_mode:
        traceback.print_exc()
    text = f"{type(error).__name__}: {error}"
    if line := line_of(error):
        return _stated(WorkbenchError(line, Words(on_one_line(text)), "code that runs"), as_json)
    say(f"internal error: {text}\n`python -X dev -m workbench ...` shows where it happened; please report it.")
    return _failed(1, _failure("internal_error", text, "no such fault; please report it"), as_json)


def _failure(status: str, value: str, expected: str) -> WorkbenchError:
    error = WorkbenchError("workbench", value, expected)
    error.status = status
    return error


def _failed(code: int, error: WorkbenchError, as_json: bool) -> int:
    if as_json:
        show(error.as_json(), as_json=True)
    return code


AGAIN_S = 0.05
"""A swallowed Ctrl-C comes again so much later."""


class _Interrupts:
    """Remembers that Ctrl-C came, also where a library turns the KeyboardInterrupt into something else.

    Where it is raised in a callback, of which Python can only report it (pydantic's patterns have some), it comes
    again.
    """

    def __init__(self) -> None:
        self.came = False
        self._ours = False
        self._report = sys.unraisablehook
        self._again = threading.Timer(AGAIN_S, _thread.interrupt_main)

    def __enter__(self) -> _Interrupts:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            try:
                signal.signal(signal.SIGINT, self._interrupt)
                self._ours, sys.unraisablehook = True, self._unraisable
            except ValueError:  # not the main thread
                pass
        return self

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt

    def _unraisable(self, found: sys.UnraisableHookArgs) -> None:
        if found.exc_type is not KeyboardInterrupt:
            self._report(found)
            return
        self._again = threading.Timer(AGAIN_S, _thread.interrupt_main)  # at once it would be swallowed here
        self._again.daemon = True
        self._again.start()

    def __exit__(self, *_: object) -> None:
        if self._ours:
            self._again.cancel()
            sys.unraisablehook = self._report
            signal.signal(signal.SIGINT, signal.default_int_handler)
