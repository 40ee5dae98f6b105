"""``age`` through rage: ``age -r RECIPIENT... -o OUT [IN]`` and ``age --decrypt -i IDENTITY [-o OUT] [IN]``."""

import argparse
import sys
from pathlib import Path

import pyrage

parser = argparse.ArgumentParser()
parser.add_argument("-d", "--decrypt", action="store_true")
parser.add_argument("-i", type=Path)
parser.add_argument("-r", action="append", default=[])
parser.add_argument("-o", type=Path)
parser.add_argument("file", type=Path, nargs="?")
options = parser.parse_args()
data = options.file.read_bytes() if options.file else sys.stdin.buffer.read()
if options.decrypt:
    lines = [line for line in options.i.read_text().split("\n") if line and not line.startswith("#")]
    result = pyrage.decrypt(data, [pyrage.x25519.Identity.from_str(line) for line in lines])
else:
    result = pyrage.encrypt(data, [pyrage.x25519.Recipient.from_str(text) for text in options.r])
if options.o:
    options.o.write_bytes(result)
else:
    sys.stdout.buffer.write(result)
