"""What is new in a feed of bounties: each entry once, remembered in a file. Of the standard library alone.

The address of the feed is the one that a list's "Follow this search" leads to, as JSON, such as
https://bounties.example/feed.json?tag=parser. Titles and texts are written by strangers.
"""

import json
import os
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 2_000_000
MOST_KEPT = 5_000


@dataclass(frozen=True)
class Item:
    """One entry of the feed."""

    id: str
    url: str
    title: str
    text: str
    tags: tuple[str, ...]

    @property
    def is_new_bounty(self) -> bool:
        """Whether it says that a bounty was created, and not what happened in one."""
        return self.id.endswith(":created")


def read_feed(address: str) -> list[Item]:
    """Its entries, the oldest first."""
    with urllib.request.urlopen(address, timeout=30) as answer:
        found = json.loads(answer.read(MOST_BYTES))
    items = [
        Item(each["id"], each["url"], each["title"], each["content_text"], tuple(each.get("tags", ())))
        for each in found["items"]
    ]
    return items[::-1]


def new_items(address: str, seen_file: Path) -> Iterator[Item]:
    """Entries that were not given before. One counts as given when the next is asked for: what fails comes again."""
    seen = json.loads(seen_file.read_text()) if seen_file.exists() else []
    for item in read_feed(address):
        if item.id in seen:
            continue
        yield item
        seen = [*seen, item.id][-MOST_KEPT:]
        draft = seen_file.with_suffix(".part")
        draft.write_text(json.dumps(seen))
        os.replace(draft, seen_file)
