"""``service-audit``: one bounty, a deployment once, or a deployment all day."""

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from service_audit import __version__
from service_audit.look import AuditOptions, Auditor
from service_audit.output import Output, print_report
from service_audit.summary import bounty_summary
from service_audit.watch import INTERVAL_SECONDS, Metrics, Stopped, Watch, stop_on_signals

DESCRIPTION: Final = """\
Hold a deployment against its chain. It needs no key, sends public reads only, and shares no code with what it checks.

Without --bounty and --watch it looks at everything once. With --watch it looks until it is stopped: first at everything
and again once a week, in between at what is new and at a sample, and prints a line where a difference begins and where
it is over. What differs for less than a minute is no difference.
"""
EPILOG: Final = """\
environment:
  SERVICE_RPC_URL, SERVICE_HUB_ADDRESS, SERVICE_API_BASE_URL in the place of --rpc, --hub, --api; or the name of a file
  in SERVICE_RPC_URL_FILE, for an endpoint whose address is a secret

exit code:
  0 no difference, or a watch that was stopped; 1 a difference; 2 something could not be read, or wrong arguments

examples:
  service-audit --rpc https://RPC --hub 0xHUB --from-block BLOCK --api https://HOST --bounty 7
  service-audit --rpc https://RPC --hub 0xHUB --from-block BLOCK --api https://HOST --pages https://HOST
  service-audit --rpc https://RPC --hub 0xHUB --from-block BLOCK --api https://HOST --watch --metrics-port 9464

What is compared, and what to do about a difference: docs/audit.md.
"""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run does, and how it reports."""

    bounty: int | None
    interval_seconds: int | None
    """Between the looks of a watch; None for one look."""
    as_json: bool
    metrics_address: str
    metrics_port: int | None


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit code."""
    options, run = parsed(words, os.environ)
    output = Output(sys.stdout, run.as_json or not sys.stdout.isatty())
    stop_on_signals()
    try:
        return _watch(options, run, output) if run.interval_seconds else _once(options, run, output)
    except Stopped:
        return 0 if run.interval_seconds else 2
    except BrokenPipeError:  # nobody reads the lines any more
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # Python's flush at exit then hits no closed pipe
        return 2


def _once(options: AuditOptions, run: RunOptions, output: Output) -> int:
    auditor = Auditor(options)
    report = auditor.look_at_everything() if run.bounty is None else auditor.look_at(run.bounty)
    chain = auditor.chain
    if run.bounty is not None and chain.head.number >= 0:
        summary = bounty_summary(chain, run.bounty)
        if summary is None:
            report.add("read", f"bounty {run.bounty}", "a bounty of the chain", "none with this number")
        else:
            output.emit("audit.bounty", summary)
    print_report(output, report, chain.finalized.number)
    return report.exit_code()


def _watch(options: AuditOptions, run: RunOptions, output: Output) -> int:
    metrics = Metrics()
    if run.metrics_port is not None:
        try:
            metrics.serve(run.metrics_address, run.metrics_port)
        except OSError as error:
            place = f"{run.metrics_address}:{run.metrics_port}"
            print(f"The metrics cannot be at {place}: {error.strerror}.", file=sys.stderr)
            return 2
    interval = run.interval_seconds or INTERVAL_SECONDS
    Watch(Auditor(options), output, metrics, lambda: time.sleep(interval)).run()
    return 0


def parsed(words: Sequence[str] | None, environment: Mapping[str, str]) -> tuple[AuditOptions, RunOptions]:
    """Return the arguments, each checked."""
    parser = _parser()
    found = parser.parse_args(words)
    rpc = _given(parser, "--rpc", found.rpc, "SERVICE_RPC_URL", environment)
    hub = _given(parser, "--hub", found.hub, "SERVICE_HUB_ADDRESS", environment)
    api = _given(parser, "--api", found.api, "SERVICE_API_BASE_URL", environment)
    if rpc is None or hub is None:
        parser.error("name the chain by --rpc and --hub; --help has examples")
    for name, text in (("--rpc", rpc), ("--api", api), ("--pages", found.pages)):
        if text is not None and not _is_url(text):
            parser.error(f"argument {name}: no http or https address")  # not shown: it may be a key
    if not re.fullmatch(r"0x[0-9a-fA-F]{40}", hub):
        parser.error(f"argument --hub: {hub!r} is no address")
    if found.metrics_port is not None and found.watch is None:
        parser.error("--metrics-port needs --watch: without it nothing is there to be scraped")
    if found.bounty is not None and found.watch is not None:
        parser.error("--bounty looks once: leave --watch away")
    options = AuditOptions(
        rpc_url=rpc, hub=hub.lower(), api_url=api, pages_url=found.pages, from_block=found.from_block,
        max_lag_seconds=found.max_lag_seconds, max_unsettled_seconds=found.max_unsettled_seconds,
    )  # fmt: skip
    return options, RunOptions(found.bounty, found.watch, found.json, found.metrics_address, found.metrics_port)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="service-audit",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"service-audit, version {__version__}")
    subject = parser.add_argument_group("what is looked at")
    subject.add_argument("--rpc", metavar="URL", help="a JSON-RPC endpoint of the chain, never the operator's")
    subject.add_argument("--hub", metavar="ADDRESS", help="the Hub's address")
    subject.add_argument("--api", metavar="URL", help="the API's address; without it only the chain is checked")
    subject.add_argument("--pages", metavar="URL", help="the address of the pages")
    subject.add_argument(
        "--from-block", type=_number(0, 10**12), default=0, metavar="BLOCK",
        help="the block that the Hub was deployed in, or one before it (0)",
    )  # fmt: skip
    subject.add_argument("--bounty", type=_number(0, 10**12), metavar="N", help="one bounty alone")
    subject.add_argument(
        "--watch", type=_number(1, 999_999), nargs="?", const=INTERVAL_SECONDS, metavar="SECONDS",
        help=f"look again so many seconds after each look ({INTERVAL_SECONDS})",
    )  # fmt: skip
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--max-lag-seconds",
        type=_number(0, 10**12),
        default=60,
        metavar="N",
        help="how far the index may be behind (60)",
    )
    limits.add_argument(
        "--max-unsettled-seconds", type=_number(0, 10**12), default=600, metavar="N",
        help="how long a bounty may wait for its settlement (600)",
    )  # fmt: skip
    reported = parser.add_argument_group("how it is reported")
    reported.add_argument("--json", action="store_true", help="JSON lines at a terminal, too")
    reported.add_argument(
        "--metrics-port", type=_number(0, 65_535), metavar="PORT", help="serve /metrics for Prometheus"
    )
    reported.add_argument(
        "--metrics-address", default="127.0.0.1", metavar="ADDRESS", help="where the port listens (127.0.0.1)"
    )
    return parser


def _given(
    parser: argparse.ArgumentParser, option: str, value: str | None, name: str, environment: Mapping[str, str]
) -> str | None:
    """Return the option; else the variable, or the content of the file that it names."""
    if value is not None:
        return value
    file = environment.get(f"{name}_FILE")
    if not file:
        return environment.get(name) or None
    if environment.get(name):
        parser.error(f"{name} and {name}_FILE are both set; {option} needs one")
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        parser.error(f"{name}_FILE names a file that cannot be read")


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _number(least: int, most: int) -> Callable[[str], int]:
    def parsed_number(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {least} to {most}")
        return int(text)

    return parsed_number


if __name__ == "__main__":
    sys.exit(main())
