"""The deterministic reviewer: the rubric's points that a program can check.

Promises: the same page at the same time gets the same issues, each with where and what to change; nothing leaves this
process. It judges form and clarity, never merit.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from service_common.errors import MAX_ISSUE_PATH, Issue
from service_common.rubric import current_rubric

from service_reviewer.providers.port import Judgement, Material

_VAGUE: Final = re.compile(
    r"\b(good|great|nice|high|best|decent|acceptable|reasonable|sufficient|appropriate|professional|clean|elegant)\b"
    r"(\s+(quality|code|work|effort|design|result|enough))?|\bas (needed|appropriate)\b|\betc\b|\band so on\b"
    r"|\bworks? (well|correctly|properly)\b|\buser[- ]friendly\b",
    re.IGNORECASE,
)
_MEASURE: Final = re.compile(
    r"\d|\bevery\b|\ball\b|\beach\b|\bno\b|\bnone\b|\bexit(s)?\b|\bpass(es)?\b|\bequal|\bidentical\b|\bcontain|\bmatch"
    r"|\breturn|\bprint|\brun(s)?\b|\bcompile|\bbuild(s)?\b|\bprove|\bshow|\blist|\breport|\breject|\brefuse|\baccept"
    r"|`[^`]+`",
    re.IGNORECASE,
)
_PLACEHOLDER: Final = re.compile(
    r"\b(TBD|TBA|TODO|FIXME|XXX)\b|lorem ipsum|\bto be (determined|defined|decided|announced)\b"
    r"|<(your|insert|fill|another|title)\b[^<>]*>|<[a-z][^<>=/:@]* [^<>=/:@]*>"
    r"|\[(your|insert|fill)[^\]]*\]|\{\{[^}]*\}\}"
    r"|\b(remove|delete) this (paragraph|line|section)\b",
    re.IGNORECASE,
)
_STEERING: Final = re.compile(
    r"\b(ignore|disregard|forget)\b.{0,40}\b(instruction|rubric|criteria|prompt|previous|above)"
    r"|\byou are (now )?(a|an|the)\b.{0,30}\b(model|assistant|judge|reviewer)"
    r"|\b(judge|guardian|reviewer|model|assistant)s?\b.{0,40}\b(must|should|shall|will)\b.{0,30}"
    r"\b(award|approve|accept|vote|mark)\b.{0,40}\b(regardless|always|me|my|ready)"
    r"|\bmark (this|the) (page|challenge|bounty) (as )?ready\b",
    re.IGNORECASE | re.DOTALL,
)
_SECRET: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|AGE-SECRET-KEY-1[0-9A-Z]{20,}|\bAKIA[0-9A-Z]{16}\b|\bghp_[0-9A-Za-z]{30,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}|\b(private[ _-]?key|secret|password|passwd|api[ _-]?key)\b\s*[:=]\s*[\"']?\S{8,}",
    re.IGNORECASE,
)
_AMOUNT: Final = re.compile(r"\b(?:escrow|reward|prize|bounty|pays?)\b[^.\n]{0,40}?\b(\d{6,})\b", re.IGNORECASE)
_DANGLING: Final = re.compile(r"\b(see|in|per) (the )?(attach(ment|ed)|appendix|annex)\b", re.IGNORECASE)
_MIN_BODY_WORDS: Final = 30


class RulesProvider:
    """Applies the rubric's checkable points."""

    name = "rules"

    def judge(self, material: Material) -> Judgement:
        """All issues at once."""
        issues = [*_criteria(material), *_deliverables(material), *_terms(material), *_text(material)]
        output = json.dumps([[issue.path, issue.message] for issue in issues]).encode()
        return Judgement(issues, model="rules-1", prompt=current_rubric().text.encode(), output=output)


def _criteria(material: Material) -> Iterator[Issue]:
    for index, text in enumerate(material.page.acceptance_criteria):
        if len(text.split()) < 4 or (_VAGUE.search(text) and not _MEASURE.search(text)):
            yield Issue(
                f"acceptance_criteria[{index}]",
                "Two Guardians could disagree on whether this is met. Name what is run, counted, compared or looked "
                "at, and the result that passes.",
            )


def _deliverables(material: Material) -> Iterator[Issue]:
    for index, text in enumerate(material.page.deliverables):
        if len(text.split()) < 2 and "." not in text and "/" not in text:
            yield Issue(
                f"deliverables[{index}]", "Say what is handed over: a file and its format, a document, a program."
            )


def _terms(material: Material) -> Iterator[Issue]:
    page = material.page
    if page.submission_deadline <= material.now:
        yield Issue("submission_deadline", "Lies in the past. Choose a deadline that leaves time to do the work.")
    for found in _AMOUNT.finditer(page.body):
        if int(found.group(1)) != page.escrow_amount:
            yield Issue(
                "body",
                f"States an amount of {found.group(1)} where the frontmatter's escrow_amount is {page.escrow_amount}. "
                "State it once, in the frontmatter.",
            )


def _text(material: Material) -> Iterator[Issue]:
    page = material.page
    if len(page.body.split()) < _MIN_BODY_WORDS:
        yield Issue(
            "body", f"Describes the challenge in fewer than {_MIN_BODY_WORDS} words. Say what is needed and why."
        )
    parts = {"title": page.title, "summary": page.summary, "body": page.body}
    parts |= {f"acceptance_criteria[{i}]": text for i, text in enumerate(page.acceptance_criteria)}
    parts |= {f"deliverables[{i}]": text for i, text in enumerate(page.deliverables)}
    for path, text in parts.items():
        yield from _leftovers(path[:MAX_ISSUE_PATH], text)


def _leftovers(path: str, text: str) -> Iterator[Issue]:
    if (found := _PLACEHOLDER.search(text)) is not None:
        yield Issue(path, f"Holds the placeholder {found.group()[:60]!r}. Replace it with the final text.")
    if _STEERING.search(text) is not None:
        yield Issue(path, "Instructs a judge or a model how to decide. Leave the judging to the acceptance criteria.")
    if _SECRET.search(text) is not None:
        yield Issue(path, "Holds what looks like a secret. The page is public for ever: remove it and revoke it.")
    if (found := _DANGLING.search(text)) is not None:
        yield Issue(path, f"Refers to {found.group()[:60]!r}, which a page cannot carry. Put the content on the page.")
