"""Check a deployment: its chain, and every public answer, by a program that shares no code with it.

service-audit --watch --rpc URL --hub ADDRESS --api URL
python -m service_checker --rpc URL --hub ADDRESS --api URL
"""

import argparse
import os
import re
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from service_checker.report import CheckReport, FoundDifference
from service_checker.run import MAX_CHECK_SECONDS, CheckOptions, check
from service_checker.watching import (
    Stopped,
    WatchEvent,
    lines_of,
    metrics,
    stop_on_signals,
    watch,
    write_metrics,
)

INTERVAL_SECONDS: Final = 300
SAMPLE: Final = 20
DESCRIPTION: Final = """\
Check a deployment against its chain. It reads public answers only, needs no key, writes nothing to the deployment, and
shares no code with what it checks.

With --watch it checks until it is stopped, prints a line when a difference begins and when it is over, and gives
Prometheus the state. Each check looks at all of the chain's events and money, at the status, at one of the changes,
the list and GraphQL, and at a sample of the bounties: all of them have had their turn before one is looked at again.
What differs is looked at in each check until it is over.
"""
EPILOG: Final = """\
environment:
  SERVICE_RPC_URL, SERVICE_HUB_ADDRESS, SERVICE_API_BASE_URL in the place of --rpc, --hub, --api; or the name of a file
  in SERVICE_RPC_URL_FILE, for an endpoint whose address is a secret

exit code:
  once:   0 no difference, 1 a difference, 2 something could not be read, or the arguments are wrong
  watch:  0 stopped by SIGTERM or SIGINT, 2 the arguments are wrong or the port cannot be had

examples:
  service-audit --watch --rpc https://RPC --hub 0xHUB --from-block BLOCK --api https://HOST --metrics-port 9464
  service-audit --watch --once --rpc https://RPC --hub 0xHUB --from-block BLOCK --api https://HOST --json

What is compared, what a line means and whom to show it: docs/checker.md, docs/watchtower.md.
"""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How often is checked, and how it is reported."""

    interval_seconds: int | None
    """None: one check."""
    as_json: bool
    metrics_file: Path | None
    metrics_port: int | None
    metrics_address: str


def main(words: Sequence[str] | None = None, program: str = "checker") -> int:
    """Check what the command line asks for; returns the exit code."""
    asked, options = parsed(words, program, os.environ)
    stop_on_signals()
    try:
        return _watch(asked, options) if options.interval_seconds else _once(asked, options)
    except Stopped:
        return 0 if options.interval_seconds else 2
    except BrokenPipeError:  # nobody reads the lines any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what Python flushes at its end
        return 2


def _once(asked: CheckOptions, options: WatchOptions) -> int:
    findings = check(asked, lambda line: print(line, file=sys.stderr))
    print(findings.as_json() if options.as_json else "\n".join(findings.lines()), flush=True)
    if not _written(options.metrics_file, metrics(findings, findings.found, time.time())):
        return 2
    return findings.exit_code()


def _written(path: Path | None, text: str) -> bool:
    """Whether the file with the metrics is there, where one is wanted."""
    try:
        if path is not None:
            write_metrics(path, text)
    except OSError as error:  # a full disk; that the file gets old is what the alert sees
        print(f"{path} was not written: {error.strerror}", file=sys.stderr, flush=True)
        return False
    return True


def _watch(asked: CheckOptions, options: WatchOptions) -> int:
    server = None
    if options.metrics_port is not None:
        from service_checker.metrics_server import MetricsServer

        try:
            server = MetricsServer(options.metrics_address, options.metrics_port)
        except OSError as error:
            place = f"{options.metrics_address}:{options.metrics_port}"
            print(f"The metrics cannot be at {place}: {error.strerror}.", file=sys.stderr)
            return 2
        print(f"metrics at {server.url}", file=sys.stderr, flush=True)

    def report(findings: CheckReport, still_open: Collection[FoundDifference]) -> None:
        text = metrics(findings, still_open, time.time())
        if server is not None:
            server.text = text
        _written(options.metrics_file, text)
        print(list(findings.lines())[-1], file=sys.stderr, flush=True)

    def say(events: Collection[WatchEvent]) -> None:
        now = time.time()
        for line in (each.as_json(now) for each in events) if options.as_json else lines_of(events):
            print(line, flush=True)

    watch(lambda: check(asked), report, say, lambda: time.sleep(options.interval_seconds or 0))
    return 0


def parsed(
    words: Sequence[str] | None, program: str, environment: Mapping[str, str]
) -> tuple[CheckOptions, WatchOptions]:
    """The arguments, each checked: what is to be checked, and how it is reported."""
    parser = _parser(program)
    found = parser.parse_args(words)
    rpc = _given(parser, "--rpc", found.rpc, "SERVICE_RPC_URL", environment)
    hub = _given(parser, "--hub", found.hub, "SERVICE_HUB_ADDRESS", environment)
    if rpc is None or hub is None:
        parser.error("name the chain by --rpc and --hub; --help has examples")
    api = _given(parser, "--api", found.api, "SERVICE_API_BASE_URL", environment)
    for name, read, text in (
        ("--rpc", _url, rpc), ("--hub", _address, hub), ("--api", _url, api), ("--pages", _url, found.pages),
    ):  # fmt: skip
        try:
            if text is not None:
                read(text)
        except argparse.ArgumentTypeError as error:
            parser.error(f"argument {name}: {error}")
    if found.search and not found.canaries:
        parser.error("--search needs --canaries")
    canaries = _lines(parser, found.canaries) if found.canaries else ()
    for path in found.search:
        if not path.exists():
            parser.error(f"there is no {path}")
    interval = None if found.once else found.watch
    if found.metrics_port is not None and interval is None:
        parser.error("--metrics-port needs --watch: without it nothing is there to be scraped")
    sample = found.sample if found.sample is not None else SAMPLE if interval else None
    asked = CheckOptions(
        rpc_url=rpc, hub=hub.lower(), api_url=api, pages_url=found.pages, from_block=found.from_block,
        every_block=found.every_block, max_lag_seconds=found.max_lag_seconds,
        max_unsettled_seconds=found.max_unsettled_seconds, max_seconds=found.max_check_seconds,
        searched=found.search, canaries=canaries, sample=sample or None,
    )  # fmt: skip
    return asked, WatchOptions(interval, found.json, found.metrics, found.metrics_port, found.metrics_address)


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    watched = parser.add_argument_group("what is checked")
    watched.add_argument("--rpc", metavar="URL", help="a JSON-RPC endpoint of the chain, of your own choice")
    watched.add_argument("--hub", metavar="ADDRESS", help="the Hub's address")
    watched.add_argument("--api", metavar="URL", help="the API's address; without it only the chain is checked")
    watched.add_argument("--pages", metavar="URL", help="the address of the pages: their challenges, too")
    watched.add_argument(
        "--from-block", type=_count, default=0, metavar="BLOCK",
        help="the block that the Hub was deployed in, or one before it (0)",
    )  # fmt: skip
    watched.add_argument(
        "--sample", type=_sample, metavar="BOUNTIES",
        help=f"how many bounties, and one list, each check looks at, or all ({SAMPLE} with --watch, all without)",
    )  # fmt: skip
    watched.add_argument("--every-block", action="store_true", help="read the Hub's balance after every block")
    watched.add_argument("--canaries", type=Path, help="a file of secrets, one a line, that must be found nowhere")
    watched.add_argument(
        "--search", type=Path, action="append", default=[],
        help="a file or folder to be searched for the canaries: logs, a database's dump, a store; repeatable",
    )  # fmt: skip
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--max-lag-seconds", type=_count, default=60, metavar="N", help="how far the index may be behind (60)"
    )
    limits.add_argument(
        "--max-unsettled-seconds", type=_count, default=600, metavar="N",
        help="how long a bounty may wait for its settlement (600)",
    )  # fmt: skip
    limits.add_argument(
        "--max-check-seconds", type=_seconds, default=MAX_CHECK_SECONDS, metavar="N",
        help=f"after which a check asks for nothing more ({MAX_CHECK_SECONDS})",
    )  # fmt: skip
    reported = parser.add_argument_group("how it is reported")
    reported.add_argument(
        "--watch", type=_seconds, nargs="?", const=INTERVAL_SECONDS, metavar="SECONDS",
        help=f"check again so many seconds after each check ({INTERVAL_SECONDS})",
    )  # fmt: skip
    reported.add_argument("--once", action="store_true", help="check once, also beside --watch")
    reported.add_argument("--json", action="store_true", help="the report, or each line of a watch, as JSON")
    reported.add_argument(
        "--metrics", type=Path, metavar="FILE", help="a file for Prometheus's node exporter, written after each check"
    )
    reported.add_argument("--metrics-port", type=_port, metavar="PORT", help="serve /metrics for Prometheus")
    reported.add_argument(
        "--metrics-address", default="127.0.0.1", metavar="ADDRESS", help="where the port listens (127.0.0.1)"
    )
    return parser


def _given(
    parser: argparse.ArgumentParser, option: str, value: str | None, name: str, environment: Mapping[str, str]
) -> str | None:
    """The option; else the variable, or the content of the file that it names."""
    if value is not None:
        return value
    file = environment.get(f"{name}_FILE")
    if file is None:
        return environment.get(name) or None
    if environment.get(name):
        parser.error(f"{name} and {name}_FILE are both set; {option} needs one")
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        parser.error(f"{name}_FILE names a file that cannot be read")


def _address(text: str) -> str:
    if not re.fullmatch(r"0x[0-9a-fA-F]{40}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no address")
    return text


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        whole = False
    if not whole:  # not shown: it may be a key
        raise argparse.ArgumentTypeError("no http or https address")
    return text


def _seconds(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 1 to 999999")
    return int(text)


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no count")
    return int(text)


def _sample(text: str) -> int:
    """0 for all."""
    if text == "all":
        return 0
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of bounties from 1 to 999999 nor all")
    return int(text)


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return int(text)


def _lines(parser: argparse.ArgumentParser, path: Path) -> list[bytes]:
    try:
        lines = [line.strip() for line in path.read_bytes().splitlines()]
    except OSError as error:
        parser.error(f"{path}: {error.strerror}")
    found = [line for line in lines if line]
    if any(len(line) < 8 for line in found):
        parser.error(f"{path}: a canary of less than 8 bytes is found by chance")
    return found


if __name__ == "__main__":
    sys.exit(main())
