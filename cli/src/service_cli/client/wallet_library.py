"""eth-account, imported only when something is signed.

Promises: importing it leaves the interpreter's recursion limit as it was. One of its dependencies raises the limit so
far that deeply nested JSON from a lying endpoint would overflow the stack and kill the process.
"""

import sys

_limit = sys.getrecursionlimit()

from eth_account import Account  # noqa: E402  # the limit is read before and restored after this import

sys.setrecursionlimit(_limit)

__all__ = ["Account"]
