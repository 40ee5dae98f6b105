"""``age-keygen -o OUT`` and ``age-keygen -y IN``, through rage."""

import argparse
from pathlib import Path

import pyrage

parser = argparse.ArgumentParser()
parser.add_argument("-o", type=Path)
parser.add_argument("-y", type=Path)
options = parser.parse_args()
if options.y:
    (line,) = [line for line in options.y.read_text().split("\n") if line and not line.startswith("#")]
    print(pyrage.x25519.Identity.from_str(line).to_public())
else:
    key = pyrage.x25519.Identity.generate()
    options.o.write_text(f"# public key: {key.to_public()}\n{key}\n")
