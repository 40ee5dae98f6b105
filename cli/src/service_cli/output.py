"""What a command prints: events for programs on stdout, words for people on stderr.

Promises: stdout carries one JSON object per line and nothing else; nothing secret is ever passed in here.
"""

import json
import sys
from collections.abc import Mapping


def event(name: str, fields: Mapping[str, object]) -> None:
    """Print one event."""
    sys.stdout.write(json.dumps({"event": name, **fields}, separators=(", ", ": ")) + "\n")
    sys.stdout.flush()


def say(words: str) -> None:
    """Tell a person what happens."""
    sys.stderr.write(words + "\n")
    sys.stderr.flush()
