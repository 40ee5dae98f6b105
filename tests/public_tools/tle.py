"""``tle --encrypt|--decrypt -n RELAY -c CHAIN [-r ROUND] -o OUT FILE``, through drand's JavaScript client."""

import argparse
import base64
import os
import subprocess
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--decrypt", action="store_true")
parser.add_argument("--encrypt", action="store_true")
parser.add_argument("-n")
parser.add_argument("-c")
parser.add_argument("-r", default="1")
parser.add_argument("-o", type=Path)
parser.add_argument("file", type=Path)
options = parser.parse_args()
mode = "decrypt" if options.decrypt else "encrypt"
chain = (options.n, options.c, os.environ["GROUP_KEY"], options.r)
subprocess.run([os.environ["NODE"], os.environ["TLOCK_JS"], mode, *chain, options.file, options.o], check=True)
if options.encrypt:  # it writes armor
    armored = options.o.read_text().split()
    options.o.write_bytes(base64.b64decode("".join(armored[4:-4])))
