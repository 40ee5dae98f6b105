"""``cast keccak 0x...``."""

import sys

import sha3

print("0x" + sha3.keccak_256(bytes.fromhex(sys.argv[2][2:])).hexdigest())
