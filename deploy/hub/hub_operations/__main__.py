"""``python -m hub_operations deploy|owner|admin``: what an operator does to the Hub."""

import argparse
import sys
from collections.abc import Sequence

from bounty_protocol.chain.reverts import explain
from bounty_protocol.chain.rpc import ChainUnavailable, RpcRefused

from hub_operations import admin, deploy, ownership
from hub_operations.signing import OperationRefused


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, or what is passed for it; return the exit code."""
    parser = argparse.ArgumentParser(prog="hub_operations", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    deploy.add_arguments(commands.add_parser("deploy", help=str(deploy.__doc__).splitlines()[0]))
    ownership.add_arguments(commands.add_parser("owner", help=str(ownership.__doc__).splitlines()[0]))
    admin.add_arguments(commands.add_parser("admin", help=str(admin.__doc__).splitlines()[0]))
    options = parser.parse_args(arguments)
    try:
        runs = {"deploy": deploy.run, "owner": ownership.run, "admin": admin.run}
        runs[options.command](options)
    except OperationRefused as refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        return 1
    except RpcRefused as refusal:
        print(f"refused: {explain(refusal).message}", file=sys.stderr)
        return 1
    except ChainUnavailable as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
