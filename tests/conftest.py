"""What holds for every test: the interpreter as the services have it."""

import sys

_limit = sys.getrecursionlimit()

import eth_account  # noqa: E402, F401  # one of its dependencies raises the recursion limit; the services never load it

sys.setrecursionlimit(_limit)
