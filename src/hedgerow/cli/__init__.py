"""The command ``hedgerow``: commands that are imported when they run, and the one place that handles errors and interruptions."""

from __future__ import annotations

import _thread
import io
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Any

import click

from hedgerow import __version__
from hedgerow.errors import BudgetExceeded, ConfigurationError, FileFormatError, HedgerowError
from hedgerow.files import packaged_table

FAILURE, WRONG_USAGE, BUDGET_REFUSED, AUDIT_REFUTED, INTERRUPTED = 1, 2, 3, 4, 130
NOTHING_READ = 5  # in a column, or in the labels

# The first matching kind decides. Anything else is a failure.
EXIT_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (BudgetExceeded, BUDGET_REFUSED),
    (click.UsageError, WRONG_USAGE),
    (ConfigurationError, WRONG_USAGE),
    (FileFormatError, WRONG_USAGE),
    (click.Abort, INTERRUPTED),  # click's name for Ctrl-C
    (KeyboardInterrupt, INTERRUPTED),
)
AGAIN = 0.005  # seconds until an interruption that was ignored is raised again


class BrokenOff(click.ClickException):
    def __init__(self, error: BaseException, outcome: str) -> None:
        super().__init__(f"{sentence(error)} {outcome}")
        self.code = exit_code(error)
        self.is_interrupt = isinstance(error, KeyboardInterrupt)


class LazyGroup(click.Group):
    """A click group whose commands are (module, summary) by name.

    A command that fails ends with one sentence on stderr and the exit code of its exception, never with a traceback, because
    the frames of a fit may show the contents of a record.
    """

    def __init__(self, *args: Any, commands_by_name: Mapping[str, tuple[str, str]], **extra: Any) -> None:
        super().__init__(*args, **extra)
        self._homes = commands_by_name

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._homes)  # in the order in which a user needs them

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._homes:
            return None
        module = import_module(self._homes[cmd_name][0])
        # The name of a Python keyword has an underscore behind it.
        command: click.Command = getattr(module, cmd_name if hasattr(module, cmd_name) else f"{cmd_name}_")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):  # without importing any
            formatter.write_dl([(name, summary) for name, (_, summary) in self._homes.items()])

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        if not standalone_mode:
            return super().main(args, prog_name, standalone_mode=False, **extra)
        code = 0
        if sys.stderr is None:  # numpy 2.0 does not import without one
            sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the process ends
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a terminal's code page may lack a letter of a name
                stream.reconfigure(errors="backslashreplace")
        try:
            with heard(), warnings.catch_warnings():
                warnings.showwarning = _show_warning  # type: ignore[assignment]
                result = super().main(args, prog_name, standalone_mode=False, **extra)
            code = result if isinstance(result, int) else 0
            if sys.stdout is not None:
                sys.stdout.flush()  # so that a full disk is noticed here, not while Python ends
        except BrokenPipeError:
            code = FAILURE  # the reader of the pipe needs no more; click ends in the same way
        except (Exception, KeyboardInterrupt, BudgetExceeded) as error:
            code = exit_code(error)
            with suppress(OSError):
                if isinstance(error, BrokenOff) and error.is_interrupt:
                    click.echo(err=True)  # ends the line of the terminal's ^C, as click does
                click.echo(f"Error: {sentence(error)}", err=True)
        if args is None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process is ending, so nothing is left to interrupt
        for stream in (sys.stdout, sys.stderr):
            try:
                if stream is not None:
                    stream.flush()
            except OSError:  # Python would try again at its end, complain, and change the exit code
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(code)


def _show_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
    for_users = issubclass(category, UserWarning)
    text = f"warning: {message}\n" if for_users else warnings.formatwarning(message, category, filename, lineno)
    with suppress(OSError):  # as Python does if stderr is closed
        click.echo(text, err=True, nl=False)


def exit_code(error: BaseException) -> int:
    if isinstance(error, BrokenOff):
        return error.code
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), FAILURE)


def sentence(error: BaseException) -> str:
    """Return the message of an exception for a user.

    The messages of the library's, click's and the system's exceptions do not depend on the contents of records. For any other
    exception, only its type and place are shown.
    """
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return "interrupted."
    if isinstance(error, click.UsageError):
        text = error.format_message()
        if isinstance(error, click.MissingParameter):
            text = " ".join(text.split())  # click lists choices on several lines
        more = f" See '{error.ctx.command_path} --help'." if error.ctx else ""
        return text + ("" if text.endswith(".") else ".") + more
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, HedgerowError | BudgetExceeded):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    if isinstance(error, MemoryError):
        return "out of memory."
    frames = extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return (
        f"unexpected {type(error).__name__}{place}; please report it (its text is withheld, as it may quote a record)."
    )


@contextmanager
def heard() -> Iterator[None]:
    """Raise an interruption again that occurred in a destructor or a weak reference's callback, where Python ignores it.

    Python would print it with a traceback and continue. SQLAlchemy's log of an interruption within its pool is not shown either,
    because the interruption itself continues and has its own message.
    """
    before = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            before(unraisable)
            return
        timer = threading.Timer(AGAIN, _thread.interrupt_main)
        timer.daemon = True
        timers.append(timer)
        timer.start()

    timers: list[threading.Timer] = []
    silent = logging.NullHandler()  # without a handler, Python's handler of last resort would write to stderr
    logging.getLogger("sqlalchemy").addHandler(silent)
    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        logging.getLogger("sqlalchemy").removeHandler(silent)
        for timer in timers:  # the command is over, so there is nothing left to interrupt
            timer.cancel()


TABLE, TEXTS = (packaged_table("hedgerow.cli", name) for name in ("commands", "texts"))


def commands_of(group: str = "") -> dict[str, tuple[str, str]]:
    names = {name: name.split()[-1] for name in TABLE if name.rpartition(" ")[0] == group and name != "shared"}
    return {short: (TABLE[name]["module"], TABLE[name]["summary"]) for name, short in names.items()}


def _group(name: str, members: Mapping[str, tuple[str, str]], words: str) -> click.Group:
    @click.group(name, cls=LazyGroup, commands_by_name=members, invoke_without_command=True, help=words)
    @click.pass_context
    def group(context: click.Context) -> None:
        if context.invoked_subcommand is None:
            click.echo(context.get_help())

    return group


COMMANDS = commands_of()
schema, budget, federate = (
    _group(name, commands_of(name), TABLE[name]["help"]) for name in ("schema", "budget", "federate")
)
main = _group("hedgerow", COMMANDS, TEXTS["hedgerow"])
main = click.version_option(__version__, prog_name="hedgerow", message="%(prog)s %(version)s")(main)
