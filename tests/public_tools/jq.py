"""``jq -j .KEY FILE``."""

import json
import sys
from pathlib import Path

sys.stdout.write(json.loads(Path(sys.argv[-1]).read_text())[sys.argv[-2][1:]])
