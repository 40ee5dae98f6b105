"""The reasons of a Verdict as a Guardian writes them, and what looks like a mistake in them."""

import re
from typing import Final

from service_cli.errors import CommandRefused

_PAGE: Final = re.compile(r"\s{0,1000}<(?:!doctype|html|head|body|div|p|table|script|style|\?xml)\b", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]{0,1000}>")
_WORD: Final = re.compile(r"[^\W\d_]{2}")


def doubt_of(text: str) -> str | None:
    """Why Markdown reasons look like a mistake, as the end of a sentence; None where nothing does."""
    if _PAGE.match(text):
        return "are HTML, which readers are shown as its source"
    if _WORD.search(_TAG.sub(" ", text)) is None:
        return "hold no word"
    return None


def text_of(body: bytes) -> str:
    """A body as text; refused where it is empty or none, since what is recorded is kept for good."""
    if not body.strip():
        message = "There are no reasons: what was named as their file is empty."
        raise CommandRefused("reasons_unfinished", message, next_action="Write them as Markdown text.")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        message = "The Verdict's body is not UTF-8."
        raise CommandRefused("verdict_body_malformed", message, next_action="Save the file as UTF-8.") from None
