"""Tags of challenge pages: words by which bounties are found and followed."""

import re
from typing import Final

MAX_TAGS: Final = 5
MAX_TAG: Final = 30
TAG_PATTERN: Final = "[a-z0-9]+(-[a-z0-9]+)*"
"""A word that fits into an address, and that no letter of another script looks like."""


def parse_tag(text: str) -> str:
    """Parse a tag: lowercase letters and digits, optionally with single hyphens between them."""
    if len(text) > MAX_TAG or re.fullmatch(TAG_PATTERN, text) is None:
        raise ValueError(
            f"must be a word of 1 to {MAX_TAG} lowercase letters a-z and digits, with hyphens only between them"
        )
    return text
