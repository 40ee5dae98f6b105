"""How private keys and recovery phrases are written, as expressions that RE2, Python and JavaScript read alike.

The rules of a page, the client and the pages look for them. Letters are compared in any case.
"""

from typing import Final, NamedTuple

AGE_BEGIN: Final = "AGE-SECRET-KEY-(?:PQ-)?1"
"""How a private key of age begins, also one that is to withstand quantum computers."""
AGE_KEY: Final = AGE_BEGIN + "[0-9A-Z]{16}"
"""So much of a private key of age that no mention of its form has it."""
PEM_BEGIN: Final = "-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"


class SecretForm(NamedTuple):
    """What a match is called. It is none right after what matches ``not_after``."""

    what: str
    expression: str
    not_after: str | None = None


KEY_FORMS: Final = (
    SecretForm("a private key", PEM_BEGIN),
    SecretForm("an age identity", AGE_KEY),
    SecretForm(
        "a private key of an account",
        r"(?:private|secret|signing|deployer)[ _-]?key[^\n]{0,60}?\b(?:0x)?[0-9a-f]{64}\b"
        r"|\b(?:wallet|privatekeytoaccount|from_key|signingkey)\(\s{0,20}[\"']?(?:0x)?[0-9a-f]{64}\b"
        r"|\b(?:0x)?[0-9a-f]{64}\b[^\n]{0,20}\bprivate key",
    ),
    SecretForm(
        "a private key of an account",
        r"\bkey\b[\s:=\"'`]{0,20}(?:is\b[\s:\"'`]{0,20})?(?:0x)?[0-9a-f]{64}\b",
        "public[ _-]",
    ),
    SecretForm(
        "a recovery phrase",
        r"\b(?:seed|mnemonic|recovery|secret)(?: phrase| words)?\b(?: is|:| is:| =|=)\s{0,20}[\"'`]?"
        r"(?:[a-z]{3,8}[\s,]{1,20}){11}[a-z]{3,8}\b",
    ),
)
"""What may never be on a page."""
