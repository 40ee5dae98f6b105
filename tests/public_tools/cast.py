"""``cast keccak 0x...``."""

import sys

from eth_utils.crypto import keccak

print("0x" + keccak(bytes.fromhex(sys.argv[2][2:])).hex())
