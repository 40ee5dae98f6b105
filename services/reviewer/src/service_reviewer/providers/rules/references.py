"""Rubric 5, references: whatever the page points at is on the page, or public and fixed.

Promises: a number is looked for before it is missed; references into other documents ("section 4 of the standard") are
left alone.
"""

import re
from collections.abc import Iterator
from typing import Final

from service_common.errors import Issue

from service_reviewer.providers.rules.reading import Passage, Reading
from service_reviewer.providers.rules.wording import Wording

_ATTACHED: Final = Wording(
    r"\b(see|in|per|of|from|with|to|use|by) (the |our |my )?(attach(ed|ment|ments)|enclosed|annex|appendix)\b"
    r"(?! of| for)"
    r"|\b(the|our|my) (attached|enclosed) \w+|\b(is|are) attached\b",
    "attach|enclosed|annex|appendix",
)
_PRIVATE: Final = Wording(
    r"\bas (we )?(discussed|agreed|talked about)\b(?! (above|below|in (section|the (section|paragraph|text))))"
    r"|\b(discussed|agreed|mentioned|explained|told you)\b[^.]{0,20}\b(in|on|during|at|by|over)\b[^.]{0,12}"
    r"\b(calls?|meetings?|chats?|e-?mails?|discord|slack|telegram|phone)\b"
    r"|\b(was|were|has been|have been) (sent|shared|mailed|posted|distributed)\b[^.]{0,20}\b(by (e-?)?mail|around"
    r"|last (week|month)|on (slack|discord|(mon|tues|wednes|thurs|fri)day))\b"
    r"|\bper our (call|conversation|chat|e-?mail|meeting)\b",
    "sent|shared|mailed|posted|distributed|discussed|agreed|talked|mentioned|explained|told|per our",
)
_OUTSIDE: Final = Wording(
    r"\b(requirements?|specifications?|specs?|criteria|details|instructions|brief|scope|task|description)\b[^.]{0,60}"
    r"\b(google docs?|google drive|notion|figma|dropbox|airtable|trello|jira|confluence|discord|telegram|slack|whatsapp"
    r"|wechat|dms?)\b"
    r"|\b(join|ask (in|on)|come to|look (in|at)) (our|the|my) (\w+ )?(discord|slack|telegram|whatsapp|chat|channel)\b",
    "google|notion|figma|dropbox|airtable|trello|jira|confluence|discord|telegram|slack|whatsapp|wechat|dm|chat|channel",
)
_ON_REQUEST: Final = Wording(
    r"\b(is|are|was|were)(n't| not) (included|shown|given|described|printed|listed|part of this page)\b[^.]{0,30}"
    r"\b(here|on this page|in this page|yet|but)\b"
    r"|\b(somebody|someone|we)( will|'ll| can) (send|give|mail|tell|show) (you|it|them)\b"
    r"|\b(dm|pm|message|e-?mail|mail|contact|write|ask|ping|text) (me|us)\b[^.]{0,40}\b(for|to get|to receive)"
    r" (the |an? |your |more )?(access|details|links?|files?|data|dataset|credentials|password|specs?"
    r"|specification|requirements|information|invite|instructions)\b",
    "n't | not in| not sh| not gi| not de| not pr| not li| not part|send |give |mail |tell |show | me | us ",
)
_UNREACHABLE: Final = Wording(
    r"\b(https?|ftp|wss?)://(localhost|127\.\d|0\.0\.0\.0|10\.\d+\.\d|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[::1\]"
    r"|[\w.-]+\.(local|internal|lan|intranet|corp)\b)|\bfile://",
    "://",
)
_NUMBERED: Final = Wording(
    r"(?<!, )\b(?P<kind>criterion|criteria|deliverable|section|chapter|table|figure|fig\.|screenshot) (?:no\.? ?"
    r"|number |#)?"
    r"(?P<number>\d{1,2})\b(?!\.\d|\s+(?:of|in|from)\b|\s*%)",
    "criteri|deliverable|section|chapter|table|fig|screenshot",
)
_BELOW: Final = Wording(
    r"\b(?P<kind>table|image|screenshot|diagram|figure|photo|picture|drawing|sketch|mock-?up|wireframe) (below|above)\b"
    r"|\b(below|following) (?P<other>table|image|screenshot|diagram|drawing|picture|sketch|mock-?up|wireframe)\b",
    "below|above|following",
)
_ELSEWHERE: Final = (
    (_ATTACHED, "which a page cannot carry. Put the content on the page."),
    (_PRIVATE, "which nobody else was part of. Write out what was agreed."),
    (_OUTSIDE, "where it can change and not everyone can look. Put what is judged on the page."),
    (_ON_REQUEST, "which a reader of the page does not have. Put what is judged on the page."),
    (_UNREACHABLE, "which others cannot reach. Put the content on the page, or give a public address."),
)
_UNDEFINED_LINK: Final = Wording(r"(?<![\w\]`])\[[^\[\]]{3,80}\]\[[^\[\]]{0,40}\]", "][")
_OUTER: Final = re.compile(r"^([a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


def find_dangling(reading: Reading) -> Iterator[Issue]:
    """References to what a reader of the page alone cannot see."""
    known: dict[tuple[str, int], bool] = {}
    appended = any("appendix" in heading.lower() or "annex" in heading.lower() for heading in reading.headings)
    for passage in reading.prose:
        flat = passage.prose.replace("\n", " ")
        yield from _elsewhere(passage, flat, appended=appended)
        yield from _numbers(reading, passage, flat, known)
    yield from _links(reading)


def _elsewhere(passage: Passage, flat: str, *, appended: bool) -> Iterator[Issue]:
    for pattern, advice in _ELSEWHERE:
        for found in pattern.finditer(flat):
            if not (appended and "appendix" in found.group().lower()):
                yield passage.issue(f"Refers to {found.group()[:80]!r}, {advice}", found.start())
    for found in _UNDEFINED_LINK.finditer(flat):
        yield passage.issue(f"Holds the link {found.group()[:80]!r} without its address. Add it.", found.start())


def _numbers(reading: Reading, passage: Passage, flat: str, known: dict[tuple[str, int], bool]) -> Iterator[Issue]:
    for found in _NUMBERED.finditer(flat):
        wanted = (found["kind"].lower(), int(found["number"]))
        if not known.setdefault(wanted, wanted in known or _is_there(reading, *wanted)):
            yield passage.issue(
                f"Refers to {found.group()[:60]!r}, which is not on the page. Correct the number, or add it.",
                found.start(),
            )
    for found in _BELOW.finditer(flat):
        kind = (found["kind"] or found["other"]).lower()
        if (reading.tables if kind == "table" else reading.images) == 0:
            yield passage.issue(
                f"Refers to {found.group()[:60]!r}, but the page holds none. Add it, or describe it in words.",
                found.start(),
            )


def _is_there(reading: Reading, kind: str, number: int) -> bool:
    page = reading.page
    if kind in {"criterion", "criteria"}:
        return number <= len(page.acceptance_criteria)
    if kind == "deliverable":
        return number <= len(page.deliverables)
    if kind in {"section", "chapter"}:
        named = rf"^\W*((section|chapter) )?{number}\b"
        return number <= len(reading.headings) or any(re.match(named, h, re.IGNORECASE) for h in reading.headings)
    if kind == "table" and number <= reading.tables:
        return True
    label = re.compile(rf"^\W*{re.escape(kind)} {number}\b", re.IGNORECASE | re.MULTILINE)
    return number <= reading.images or any(label.search(passage.text) for passage in reading.passages)


def _links(reading: Reading) -> Iterator[Issue]:
    anchors = {_anchor(heading) for heading in reading.headings}
    for passage, href in reading.links:
        if href.startswith("#"):
            if href[1:].lower() not in anchors:
                yield passage.issue(f"Links to {href[:80]!r}, a heading that is not on the page. Correct the link.")
        elif not href:
            yield passage.issue("Holds a link without an address. Fill it in, or remove it.")
        elif not _OUTER.match(href):
            yield passage.issue(
                f"Links to the file {href[:80]!r}, which a page cannot carry. Put the content on the page, or give a "
                "public address."
            )


def _anchor(heading: str) -> str:
    words = re.sub(r"[^\w\s-]", "", heading.lower())
    return re.sub(r"\s", "-", words.strip())
