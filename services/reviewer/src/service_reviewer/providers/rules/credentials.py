"""Rubric 7: nothing secret is published.

Promises: known key formats are found wherever they stand; a value beside a word such as "password" only when it looks
drawn by chance and not like an example. The secret itself is never repeated in an issue.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from service_common.errors import Issue

from service_reviewer.providers.rules.reading import Passage, Reading
from service_reviewer.providers.rules.wording import Wording

_FORMATS: Final = {
    "a private key": Wording(r"-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----", "-----begin"),
    "an age identity": Wording(r"AGE-SECRET-KEY-1[0-9A-Z]{20,}", "age-secret"),
    "an AWS access key": Wording(r"\b(?:AKIA|ASIA)(?![A-Z0-9]*EXAMPLE)[0-9A-Z]{16}\b", "akia|asia", re.NOFLAG),
    "a GitHub token": Wording(r"\b(?:gh[pousr]_[0-9A-Za-z]{30,}|github_pat_[0-9A-Za-z_]{40,})", "gh", re.NOFLAG),
    "a GitLab token": Wording(r"\bglpat-[0-9A-Za-z_-]{20,}", "glpat-", re.NOFLAG),
    "a Slack token": Wording(r"\bxox[abprs]-[0-9A-Za-z-]{20,}", "xox", re.NOFLAG),
    "the address of a webhook": Wording(
        r"hooks\.slack\.com/services/T\w+/B\w+/\w{16,}|discord(app)?\.com/api/webhooks/\d+/[\w-]{30,}",
        "hooks.slack.com/|/api/webhooks/",
    ),
    "a payment key": Wording(r"\b[rs]k_live_[0-9A-Za-z]{16,}", "k_live_", re.NOFLAG),
    "a bot's token": Wording(r"\b\d{8,10}:AA[0-9A-Za-z_-]{33}\b", ":aa", re.NOFLAG),
    "a package registry token": Wording(
        r"\bnpm_[0-9A-Za-z]{36}\b|\bpypi-AgE[0-9A-Za-z_-]{50,}", "npm_|pypi-", re.NOFLAG
    ),
    "a Google API key": Wording(r"\bAIza[0-9A-Za-z_-]{35}\b", "aiza", re.NOFLAG),
    "an API key": Wording(r"\bsk-(?:[a-z]+-)?(?=[A-Za-z_]{0,40}\d)[A-Za-z0-9_]{20,}", "sk-", re.NOFLAG),
    "a signed token": Wording(r"\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}", "eyj", re.NOFLAG),
    "a private key of an account": Wording(
        r"(?:private|secret|signing|deployer)[ _-]?key[^\n]{0,60}?\b(?:0x)?[0-9a-f]{64}\b"
        r"|\b(?:wallet|privatekeytoaccount|from_key|signingkey)\(\s*[\"']?(?:0x)?[0-9a-f]{64}\b"
        r"|\b(?:0x)?[0-9a-f]{64}\b[^\n]{0,20}\bprivate key"
        r"|(?<!public )(?<!public-)(?<!public_)\bkey\b[\s:=\"'`]*(?:is\b[\s:\"'`]*)?(?:0x)?[0-9a-f]{64}\b",
        "key|wallet(|privatekey",
    ),
    "a recovery phrase": Wording(
        r"\b(?:seed|mnemonic|recovery|secret)(?: phrase| words)?\b(?: is|:| is:| =|=)\s*[\"'`]?"
        r"(?:[a-z]{3,8}[\s,]+){11}[a-z]{3,8}\b",
        "seed|mnemonic|recovery|secret",
    ),
}
_ASSIGNED: Final = Wording(
    r"(?:password|passwd|passphrase|secret|api[ _-]?key|access[ _-]?key|access[ _-]?token|auth[ _-]?token"
    r"|private[ _-]?key)"
    r"[\"'`]?(?:\s*[:=]\s*| is )[\"'`]?(?P<value>[^\s\"'`]{8,200})",
    "passw|passphrase|secret|key|token",
)
_IN_URL: Final = Wording(r"\b[a-z][a-z0-9+]{1,20}://[^\s:/@]{1,60}:(?P<value>[^\s@/]{4,80})@(?P<host>[\w.-]+)", "://")
_MADE_UP: Final = re.compile(
    r"change_?me|example|dummy|test|fake|your|xxx|\*{3}|^<|\$\{|\{\{|not[-_]?a?[-_]?secret|placeholder|sample|redacted"
    r"|12345|^https?:|^0x[0-9a-f]{40}$|^(postgres|root|admin|user|pass|password|secret|minio|guest)\W*$|\.\.\.",
    re.IGNORECASE,
)
_LOCAL_HOST: Final = re.compile(
    r"^(localhost|127\.|db$|postgres$|redis$|example\.|[\w.-]*\.example(\.|$))", re.IGNORECASE
)
_LEAST_BITS: Final = 2.5


def find_credentials(reading: Reading) -> Iterator[Issue]:
    """Keys, tokens, passwords and recovery phrases."""
    for passage in reading.passages:
        if what := _secret_in(passage):
            yield passage.issue(
                f"Holds what looks like {what}. The page is public for ever: remove it, and revoke it if it is real."
            )


def _secret_in(passage: Passage) -> str | None:
    for what, pattern in _FORMATS.items():
        if pattern.search(passage.text):
            return what
    for found in _IN_URL.finditer(passage.text):
        if not _MADE_UP.search(found["value"]) and not _LOCAL_HOST.match(found["host"]):
            return "a password in an address"
    if any(_drawn_by_chance(found["value"]) for found in _ASSIGNED.finditer(passage.text)):
        return "a secret"
    return None


def _drawn_by_chance(value: str) -> bool:
    if _MADE_UP.search(value) or not re.search(r"\d", value) or not re.search(r"[a-z]", value, re.IGNORECASE):
        return False
    counts = Counter(value).values()
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts) >= _LEAST_BITS
