"""Check a deployment: its chain, and every public answer, by a program that shares no code with it.

    python -m tools.checker --rpc URL --hub ADDRESS --api URL

Exit code 0: no difference; 1: a difference; 2: something could not be read, or the arguments are wrong.
"""

import argparse
import re
import sys
import time
from pathlib import Path

from tools.checker.report import Findings
from tools.checker.run import Asked, check
from tools.checker.watching import metrics, watch, write_metrics


def main(words: list[str] | None = None) -> int:
    """Check what the command line asks for."""
    asked, found = parsed(words)

    def report(findings: Findings) -> None:
        if found.metrics is not None:
            write_metrics(found.metrics, metrics(findings, time.time()))

    if found.watch is not None:
        try:
            watch(lambda: check(asked), report, lambda line: print(line, flush=True), lambda: time.sleep(found.watch))
        except KeyboardInterrupt:
            return 0
    findings = check(asked, lambda line: print(line, file=sys.stderr))
    report(findings)
    print(findings.as_json() if found.json else "\n".join(findings.lines()))
    return findings.exit_code()


def parsed(words: list[str] | None) -> tuple[Asked, argparse.Namespace]:
    """The arguments, each checked: what is to be checked, and how it is reported."""
    parser = argparse.ArgumentParser(
        prog="checker",
        description="Check a deployment against its chain. It reads public answers only and writes nothing.",
        epilog="Exit code 0: no difference; 1: a difference; 2: something could not be read.",
    )
    parser.add_argument("--rpc", required=True, help="a JSON-RPC endpoint of the chain, of your own choice")
    parser.add_argument("--hub", required=True, type=_address, help="the Hub's address")
    parser.add_argument("--api", help="the API's address; without it only the chain is checked")
    parser.add_argument("--pages", help="the address of the pages: their feeds and calendars are checked, too")
    parser.add_argument(
        "--from-block", type=int, default=0, help="the block that the Hub was deployed in, or one before it (0)"
    )
    parser.add_argument("--every-block", action="store_true", help="read the Hub's balance after every block")
    parser.add_argument("--max-lag-blocks", type=int, default=30, help="how far the index may be behind (30)")
    parser.add_argument(
        "--max-unsettled-seconds", type=int, default=600, help="how long a bounty may wait for its settlement (600)"
    )
    parser.add_argument("--canaries", type=Path, help="a file of secrets, one a line, that must be found nowhere")
    parser.add_argument(
        "--search", type=Path, action="append", default=[],
        help="a file or folder to be searched for the canaries: logs, a database's dump, a store; repeatable",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--watch", type=_seconds, metavar="SECONDS",
        help="check again so many seconds after each check, and print what begins to differ and what is over",
    )  # fmt: skip
    parser.add_argument("--metrics", type=Path, help="a file for Prometheus, written after each check")
    found = parser.parse_args(words)
    if found.search and not found.canaries:
        parser.error("--search needs --canaries")
    canaries = _lines(parser, found.canaries) if found.canaries else ()
    for path in found.search:
        if not path.exists():
            parser.error(f"there is no {path}")
    asked = Asked(
        rpc_url=found.rpc, hub=found.hub, api_url=found.api, pages_url=found.pages, from_block=found.from_block,
        every_block=found.every_block, max_lag_blocks=found.max_lag_blocks,
        max_unsettled_seconds=found.max_unsettled_seconds, searched=found.search, canaries=canaries,
    )  # fmt: skip
    return asked, found


def _address(text: str) -> str:
    if not re.fullmatch(r"0x[0-9a-fA-F]{40}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no address")
    return text.lower()


def _seconds(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 1 to 999999")
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
