"""The common part of every command: its options, its help, and how it ends.

Exit code 0 is done, 1 refused or failed with one event line, 2 usage, 130 interrupted and 143 terminated. No traceback
reaches a person, and no secret an error message. Without a standard output no command starts.

A command's help is its prose, then a table of what it reads and prints with its examples, all within the
terminal's width. Each example is a whole line for a shell, in which 7 is a bounty and $ACCOUNT, $SOLVER and $COMMITMENT
are the reader's own values.
"""

import os
import re
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from inspect import cleandoc
from textwrap import wrap
from typing import Any, Final, NoReturn

import click
from bounty_protocol.errors import MAX_ISSUE_MESSAGE, MAX_ISSUE_PATH, ServiceError

from service_cli.errors import CommandFailed
from service_cli.ui.arguments import BASE_URL, ETHER, NETWORK_NAME, key_in_arguments, redacting
from service_cli.ui.output import (
    OutputLost,
    ReaderGone,
    emit,
    finish,
    is_text,
    print_json,
    print_text,
    require_output,
    set_quiet,
    terminal_columns,
    warn,
)
from service_cli.ui.text import printable

_HELP_TABLE: Final = "\b\nReads:"
_HEADING: Final = re.compile(r"(Reads|Defaults|Prints|Examples|Exit):\s+")
_EVENT: Final = re.compile(r"[a-z_]+\.[a-z_]+\b")
_COLUMN: Final = 10
_EXIT: Final = "Exit:     0 done, 1 refused or failed, 2 usage, 130 or 143 interrupted"


class Program(click.Command):
    """Base of ``service-cli``: arguments that look like keys end them unread."""

    def problem_of(self, args: list[str]) -> str | None:  # noqa: ARG002
        """Return the problem of the arguments before they are parsed, if any."""
        return None

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        extra.setdefault("terminal_width", max(min(terminal_columns(), 80) - 2, 50))
        if extra.get("resilient_parsing"):  # completing: half a line is no mistake
            return super().make_context(info_name, args, parent, **extra)
        if problem := key_in_arguments(args) or self.problem_of(args):
            with click.Context(self, info_name=info_name) as context:
                context.fail(problem)
        with redacting():
            return super().make_context(info_name, args, parent, **extra)


def require_supported() -> None:
    """End with a sentence on a system without the locks that keep money from being sent twice."""
    if os.name == "nt" or sys.platform.startswith("win"):
        warn("This client does not run on Windows directly. Install it inside WSL 2: https://aka.ms/wsl")
        sys.exit(1)


class HelpedCommand(click.Command):
    """A command whose help wraps, and lists the events of its prefix."""

    prefix = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with redacting():  # while the context is this command's, so that its usage line is shown
            return super().parse_args(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        whole = self.help or ""
        prose, mark, table = cleandoc(whole).partition(_HELP_TABLE)
        self.help = prose.rstrip()
        try:
            super().format_help_text(ctx, formatter)
        finally:
            self.help = whole
        if mark:
            formatter.write_paragraph()
            with formatter.indentation():
                margin = " " * formatter.current_indent
                rows = _entries(f"Reads:{table}\n{_EXIT}")
                after = next(at for at, (heading, _) in enumerate(rows) if heading in {"Examples", "Exit"})
                from service_cli.ui.event import events_of  # it imports everything that formatting needs

                events = enumerate(events_of(self.prefix))
                rows[after:after] = [("" if at else "Prints", event.synopsis()) for at, event in events]
                for line in _laid_out(rows, formatter.width - formatter.current_indent):
                    formatter.write(f"{margin}{line}\n")


def _laid_out(rows: list[tuple[str, str]], width: int) -> list[str]:
    """Return the table's entries, each wrapped beside its heading; an event starts a new line."""
    lines: list[str] = []
    for heading, text in rows:
        first = f"{heading}:".ljust(_COLUMN) if heading else " " * _COLUMN
        if text.startswith("service-cli "):  # to be copied as it is
            lines.append(first + text)
            continue
        rest = " " * (_COLUMN + (2 if _EVENT.match(text) else 0))
        lines += wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return lines


def _entries(table: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    section = ""
    for raw in table.splitlines():
        line = raw.strip()
        if heading := _HEADING.match(line):
            section = heading[1]
            found.append((section, line[heading.end() :]))
        elif section == "Examples" and line:
            found.append(("", line))
        elif line:
            name, text = found[-1]
            found[-1] = (name, f"{text} {line}")
    return found


def _given_before(context: click.Context, option: click.Parameter, value: Any) -> Any:
    """Return the value, or the one given before the command; a limit of zero is a value."""
    before = context.find_root()
    if before is context or (value is not None and value is not False):
        return value
    return before.params.get(str(option.name))


def _quiet(context: click.Context, option: click.Parameter, value: bool) -> None:
    set_quiet(bool(_given_before(context, option, value)))


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Keep an option of the output or the deployment, given before the command or after it."""
    context.meta[f"{__name__}.{option.name}"] = _given_before(context, option, value)


def kept(name: str) -> Any:
    """Return an option of the running command that ``_keep`` kept; None if it was not given."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(f"{__name__}.{name}")


def _brief(context: click.Context, _option: click.Parameter, value: bool) -> None:
    """Print the usage, the options and two examples, and exit; ``--help`` has the rest."""
    if not value or context.resilient_parsing:
        return
    formatter, whole = context.make_formatter(), cleandoc(context.command.help or "")
    context.command.format_usage(context, formatter)
    formatter.write_paragraph()
    formatter.write_text(whole.partition("\n\n")[0])
    context.command.format_options(context, formatter)
    table = _entries(f"Reads:{whole.partition(_HELP_TABLE)[2]}")
    examples = [text for _, text in table if text.startswith("service-cli ")]
    with formatter.section("Examples"):
        for example in examples[:2]:
            formatter.write(f"{' ' * formatter.current_indent}{example}\n")
    click.echo(formatter.getvalue().rstrip())
    context.exit()


JSON_HELP = "Print JSON lines even at a terminal."
NO_COLOR_HELP = "No colours at a terminal, as with NO_COLOR."
OUTPUT = tuple(
    click.option(f"--{name}", is_flag=True, expose_value=False, callback=_keep, help=text)
    for name, text in (("no-color", NO_COLOR_HELP), ("json", JSON_HELP))
)
BRIEF = click.option(
    "-h", "brief", is_flag=True, is_eager=True, expose_value=False, callback=_brief,
    help="Show this short help; --help shows the rest.",
)  # fmt: skip
QUIET_HELP = "Print only warnings and refusals on stderr."
QUIET = click.option("--quiet", "-q", is_flag=True, expose_value=False, callback=_quiet, help=QUIET_HELP)
NETWORK_HELP = "mainnet, staging, local, or their chain ids."
NETWORK = click.option("--network", type=NETWORK_NAME, expose_value=False, callback=_keep, help=NETWORK_HELP)
UNUSED_NETWORK = click.option(
    "--network", type=NETWORK_NAME, expose_value=False, help="Accepted but unused: this command needs no network."
)
MAX_COST = click.option(
    "--max-cost",
    type=ETHER,
    expose_value=False,
    callback=_keep,
    help="The most one transaction may cost in gas; by default 0.003 ether, and more only after you confirm.",
)
API_BASE_URL = click.option(
    "--api-base-url",
    type=BASE_URL,
    expose_value=False,
    callback=_keep,
    help="Use this API instead of the network's own.",
)


def command(
    name: str,
    prefix: str,
    *,
    network: bool = True,
    api: bool = False,
    sends: bool = False,
) -> Callable[[Callable[..., None]], HelpedCommand]:
    """Make a command whose refusals are ``<prefix>.refused`` and failures ``<prefix>.failed``.

    One that ``sends`` transactions takes ``--max-cost``.
    """

    def decorate(run: Callable[..., None]) -> HelpedCommand:
        wrapped = _ending(prefix, run)
        if sends:
            wrapped = MAX_COST(wrapped)
        if api:
            wrapped = API_BASE_URL(wrapped)
        wrapped = (NETWORK if network else UNUSED_NETWORK)(wrapped)
        for option in (*OUTPUT, QUIET):
            wrapped = option(wrapped)
        made = click.command(name, HelpedCommand, context_settings={"help_option_names": ["--help"]})(BRIEF(wrapped))
        made.prefix = prefix
        return made

    return decorate


def _ending(prefix: str, run: Callable[..., None]) -> Callable[..., None]:
    """Turn what a command raises into its last line and exit code."""

    @wraps(run)
    def wrapped(*args: object, **kwargs: object) -> None:
        try:
            _run(prefix, lambda: run(*args, **kwargs))
            finish()
        except ReaderGone as gone:
            warn(f"standard output is closed: the last event was not read, {gone}")
            _silence_stdout()
            sys.exit(1)
        except OutputLost as lost:
            end_without_output(str(lost))
        except KeyboardInterrupt as stopped:
            with suppress(OutputLost, BrokenPipeError):
                finish()
            warn("interrupted; run the command again to continue")
            sys.exit(143 if isinstance(stopped, Terminated) else 130)
        except BrokenPipeError:
            _silence_stdout()
            sys.exit(1)
        finally:
            print_json()  # a program may call the next command in the same process

    return wrapped


def _run(prefix: str, run: Callable[[], None]) -> None:
    try:
        require_output()
        print_json()
        if not kept("json"):
            print_text(colours=not kept("no_color"))
        run()
    except ServiceError as error:
        _end(prefix, error)
    except (click.ClickException, OutputLost, BrokenPipeError):
        raise
    except Exception as error:  # the last net: a person gets a sentence, not a traceback
        if os.environ.get("SERVICE_DEBUG"):
            raise
        message = f"Something unexpected went wrong ({type(error).__name__})."
        next_action = "Run it again with SERVICE_DEBUG=1 to see the details."
        _end(prefix, UnexpectedError("unexpected", message, next_action=next_action))


def end_without_output(reason: str) -> NoReturn:
    """Exit with one line on stderr, since programs get none on stdout."""
    warn(f"failed: standard output cannot be written: {reason}; run the command again with another output")
    _silence_stdout()
    sys.exit(1)


class Terminated(KeyboardInterrupt):
    """SIGTERM."""


def raise_terminated(_number: int, _frame: object) -> NoReturn:
    """End as Ctrl-C does."""
    raise Terminated


def run_program(program: click.Command, name: str) -> None:
    """Run one of the wheel's programs by its name, and exit with its exit code."""
    require_supported()
    signal.signal(signal.SIGTERM, raise_terminated)
    try:
        program(prog_name=name)
    except OSError as error:  # text that could not be printed: help into a full disk
        end_without_output(error.strerror or "it failed")


class UnexpectedError(ServiceError):
    """A mistake of this program."""


def _end(prefix: str, error: ServiceError) -> None:
    # What the crypto and domain packages refuse is final for these bytes; only CommandFailed may pass later.
    is_refusal = not isinstance(error, CommandFailed | UnexpectedError)
    finish()
    if not is_text():  # in text mode stderr has it
        from service_cli.ui.event import CommandEnding, EndingIssue

        issues = tuple(EndingIssue(issue.path, issue.message) for issue in error.issues) or None
        told = (error.code, error.message, error.next_action, issues, error.retry_not_before)
        emit(CommandEnding(prefix, is_refusal, *told))
    warn(f"{'refused' if is_refusal else 'failed'}: {error.message}")
    for issue in error.issues:  # names of an envelope or a page that somebody else wrote are among them
        warn(f"  {printable(issue.path, MAX_ISSUE_PATH)}: {printable(issue.message, MAX_ISSUE_MESSAGE)}")
    if error.retry_not_before is not None:
        warn(f"not before: {error.retry_not_before}")
    warn(f"next: {error.next_action}")
    sys.exit(1)


def argument_error(name: str, problem: str) -> click.ClickException:
    """Return a usage error: exit code 2 and the usage line."""
    return click.BadParameter(problem, param_hint=name)


def read_option(name: str, reader: Callable[[str], int], text: str | None) -> int | None:
    """Read the value of an option that was given; a usage error for what cannot be read."""
    try:
        return None if text is None else reader(text)
    except ValueError as error:
        raise argument_error(name, f"must be {error}") from None


def _silence_stdout() -> None:
    """Silence Python's flush of stdout at exit: after a closed pipe it would print a second error."""
    if getattr(sys, "stdout", None) is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
