"""Print how many times faster `parse` is than `datetime.strptime`."""

import sys
import timeit
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "src"))

from rfc3339fast import parse

TEXT = "2026-11-20T08:18:35.123456+00:00"

ours = min(timeit.repeat(lambda: parse(TEXT), number=20_000, repeat=5))
theirs = min(timeit.repeat(lambda: datetime.strptime(TEXT, "%Y-%m-%dT%H:%M:%S.%f%z"), number=20_000, repeat=5))
print(round(theirs / ours, 2))
