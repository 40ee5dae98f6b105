"""Rubric 7: nothing secret is published.

Known key formats are found anywhere; a recovery phrase beside a label or alone; a value beside a word such as
"password" only when it looks random and not like an example. The secret itself is never repeated in an issue.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from bounty_protocol.errors import Issue
from bounty_protocol.readiness.key_forms import KEY_FORMS
from bounty_protocol.readiness.patterns import Pattern, found_in
from bounty_protocol.readiness.reading import Passage, Reading
from bounty_protocol.readiness.rule import Example, Rule

_FORMATS: Final = (
    *((form.what, Pattern(form.expression, not_after=form.not_after)) for form in KEY_FORMS),
    ("an AWS access key", Pattern(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", exact_case=True)),
    ("a GitHub token", Pattern(r"\b(?:gh[pousr]_[0-9A-Za-z]{30}|github_pat_[0-9A-Za-z_]{40})", exact_case=True)),
    ("a GitLab token", Pattern(r"\bglpat-[0-9A-Za-z_-]{20}", exact_case=True)),
    ("a Slack token", Pattern(r"\bxox[abprs]-[0-9A-Za-z-]{20}", exact_case=True)),
    ("the address of a webhook", Pattern(r"hooks\.slack\.com/services/T\w{1,40}/B\w{1,40}/\w{16}")),
    ("the address of a webhook", Pattern(r"discord(app)?\.com/api/webhooks/\d{1,40}/[\w-]{30}")),
    ("a payment key", Pattern(r"\b[rs]k_live_[0-9A-Za-z]{16}", exact_case=True)),
    ("a bot's token", Pattern(r"\b\d{8,10}:AA[0-9A-Za-z_-]{33}\b", exact_case=True)),
    ("a package registry token", Pattern(r"\bnpm_[0-9A-Za-z]{36}\b|\bpypi-AgE[0-9A-Za-z_-]{50}", exact_case=True)),
    ("a Google API key", Pattern(r"\bAIza[0-9A-Za-z_-]{35}\b", exact_case=True)),
    ("an API key", Pattern(r"\bsk-(?:[a-z]{1,20}-)?[A-Za-z0-9_]{20,60}", exact_case=True)),
    (
        "a signed token",
        Pattern(r"\beyJ[0-9A-Za-z_-]{10,800}\.eyJ[0-9A-Za-z_-]{10,800}\.[0-9A-Za-z_-]{10}", exact_case=True),
    ),
)
_ASSIGNED: Final = Pattern(
    r"(?:password|passwd|passphrase|secret|api[ _-]?key|access[ _-]?key|access[ _-]?token|auth[ _-]?token"
    r"|private[ _-]?key)"
    r"[\"'`]?(?:\s{0,20}[:=]\s{0,20}| is )[\"'`]?(?P<value>[^\s\"'`]{8,200})",
)
_PHRASE: Final = Pattern(
    r"(?:\A\s{0,20}|[`\"'])(?:[a-z]{3,8} ){11}(?:(?:[a-z]{3,8} ){3}){0,4}[a-z]{3,8}(?:[.\s]{0,20}\z|[`\"'])",
    exact_case=True,
)
"""As many words as a recovery phrase has, as long as its words are, with nothing beside them."""
_OF_A_SENTENCE: Final = Pattern(r"\b(?:the|and|for|with|not|are|from)\b")
"""Words of no recovery phrase."""
_IN_URL: Final = Pattern(r"\b[a-z][a-z0-9+]{1,20}://[^\s:/@]{1,60}:(?P<value>[^\s@/]{4,80})@(?P<host>[\w.-]{1,100})")
_MADE_UP: Final = Pattern(
    r"change_?me|example|dummy|test|fake|your|xxx|\*{3}|^<|\$\{|\{\{|not[-_]?a?[-_]?secret|placeholder|sample|redacted"
    r"|12345|^https?:|^0x[0-9a-f]{40}$|^(postgres|root|admin|user|pass|password|secret|minio|guest)\W*$|\.\.\.",
)
_LOCAL_HOST: Final = Pattern(r"^(localhost|127\.|db$|postgres$|redis$|example\.|[\w.-]*\.example(\.|$))")
_DIGIT: Final = Pattern(r"\d")
_LETTER: Final = Pattern("[a-z]")
_LEAST_BITS: Final = 2.5


def find_credentials(reading: Reading) -> Iterator[Issue]:
    """Find keys, tokens, passwords and recovery phrases."""
    formats = [(what, pattern) for what, pattern in _FORMATS if pattern.search(reading.all_text)]
    values = found_in((_IN_URL, _ASSIGNED), reading.all_text)
    for passage in reading.passages:
        if what := _secret_in(passage, formats, values):
            yield passage.issue(
                f"Holds what looks like {what}. The page is public forever: remove it, and revoke it if it is real."
            )


def _secret_in(passage: Passage, formats: Sequence[tuple[str, Pattern]], values: Sequence[Pattern]) -> str | None:
    for what, pattern in formats:
        if any(_is_real(what, found.words) for found in pattern.each(passage.text)):
            return what
    for found in _IN_URL.each(passage.text) if _IN_URL in values else ():
        if not _MADE_UP.search(found["value"]) and not _LOCAL_HOST.search(found["host"]):
            return "a password in an address"
    if _ASSIGNED in values and any(_drawn_by_chance(found["value"]) for found in _ASSIGNED.each(passage.text)):
        return "a secret"
    texts = passage.text.split("\n") if passage.is_code else [passage.text]
    phrases = (found.words for text in texts for found in _PHRASE.each(text))
    return "a recovery phrase" if any(not _OF_A_SENTENCE.search(words) for words in phrases) else None


def _is_real(what: str, words: str) -> bool:
    if what == "an AWS access key":
        return "EXAMPLE" not in words
    return what != "an API key" or _DIGIT.search(words) is not None


def _drawn_by_chance(value: str) -> bool:
    if _MADE_UP.search(value) or not _DIGIT.search(value) or not _LETTER.search(value):
        return False
    counts = Counter(value).values()
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts) >= _LEAST_BITS


_WORDS: Final = "trophy velvet canyon dutch orbit hazard lumber pelican sketch vapor unknown dizzy"
CREDENTIALS: Final = Rule(
    name="credentials",
    point=7,
    check=find_credentials,
    examples=(
        Example("body", "-----BEGIN RSA PRIVATE KEY-----", "The file begins with a line of dashes."),
        Example("body", "`postgres://app:Xk29-plQ7@db.acme.net/x`", "`postgres://app:change_me@localhost/x`"),
        Example("body", f"Use `{_WORDS}`.", f"A poem: {_WORDS} and the sea."),
        Example("body", f"```\n$ open\n{_WORDS}\n```", f"```\n{_WORDS} river\n```"),
        Example("body", _WORDS, f"They wrote:\n{_WORDS}\nAnd no more."),
        Example("body", "Log in with the key 0x" + "4c0883a6" * 8, "It was created in 0x" + "4c0883a6" * 8),
        Example("body", "The server's password: hunter2hunter2", "The sample password is `password: changeme123`."),
    ),
)
