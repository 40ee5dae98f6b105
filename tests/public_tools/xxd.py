"""``xxd -p -c0 FILE``."""

import sys
from pathlib import Path

print(Path(sys.argv[-1]).read_bytes().hex())
