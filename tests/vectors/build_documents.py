"""Vectors of canonical JSON, envelopes, challenge pages and written Verdicts."""

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from bounty_protocol.crypto.capsule import seal_capsule
from bounty_protocol.domain.challenge.commitments import report_commitment, spec_commitment
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.domain.envelope.canonical_json import canonical_bytes
from bounty_protocol.domain.envelope.document import Envelope, build_envelope, parse_envelope
from bounty_protocol.domain.lifecycle.states import VerdictKind
from bounty_protocol.domain.verdict import WrittenVerdict, parse_verdict, render_verdict
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import checksum_address

from tests.vectors.samples import (
    BEACON,
    BINDING,
    BOUNTY_ID,
    CHAIN_ID,
    COMPLETE_PAGE,
    CONTENT,
    GUARDIANS,
    HUB,
    PAGE,
    REVEAL_AT,
    ROSTER,
    ROUND,
    SOLVER,
    seeded,
    word,
)

DELIVERABLES: Final = b"deliverables:\n  - The tool that writes the tiles, with its source.\n"


def envelope() -> Envelope:
    """The envelope of the samples, with a real capsule."""
    return build_envelope(
        binding=BINDING,
        spec_commitment=spec_commitment(PAGE),
        guardian_roster_hash=ROSTER.guardian_roster_hash,
        recipients_commitment=ROSTER.recipients_commitment,
        reveal_policy=BEACON.info.reveal_policy(REVEAL_AT),
        content_public_key=CONTENT.public_key,
        key_capsule=seal_capsule(
            CONTENT, BINDING, ROSTER.encryption_public_keys, ROUND, BEACON.info, seeded("capsule")
        ),
        ciphertext_sha256=word("ciphertext"),
        ciphertext_byte_length=1_234_567,
    )


def canonical() -> dict[str, object]:
    """RFC 8785, integers only."""
    accepted = ['{"a":1}', "{}", "[]", '"\\u0000\\n"', '{"a":{"b":[true,null,-1]}}', '{"\U0001f600":2,"\ufb33":1}']
    rejected = [
        ('{"a": 1}', "whitespace"),
        ('{"b":1,"a":2}', "key order"),
        ('{"a":1,"a":1}', "a key twice"),
        ('{"a":1.0}', "a float"),
        ('{"a":1e3}', "a float"),
        ('{"a":-0}', "another form of zero"),
        ('{"a":9007199254740992}', "beyond 2^53 - 1"),
        ('{"a":"\\u0061"}', "an escape that is not needed"),
        ('{"a":"\\ud800"}', "half a surrogate pair"),
        ('{"a":1}\n', "a trailing byte"),
        ("\ufeff{}", "a byte order mark"),
    ]
    return {
        "about": "Envelopes are exactly RFC 8785 canonical JSON with integers only.",
        "accepted": accepted,
        "rejected": [{"text": text, "reason": reason} for text, reason in rejected],
    }


def envelopes() -> dict[str, object]:
    """The envelope and what it must not be."""
    sample = envelope()
    changes: list[tuple[str, Callable[[Any], object]]] = [
        ("an unknown key", lambda e: e.update(note="x")),
        ("a missing key", lambda e: e.pop("solver_address")),
        ("version as a string", lambda e: e.update(version="1")),
        ("version 1, whose seals named nobody", lambda e: e.update(version=1)),
        ("another version", lambda e: e.update(version=3)),
        ("another mode", lambda e: e.update(mode="none")),
        ("chain_id as a string", lambda e: e.update(chain_id="31337")),
        ("bounty_id as an integer", lambda e: e.update(bounty_id=7)),
        ("bounty_id with a leading zero", lambda e: e.update(bounty_id="07")),
        ("an address with a checksum", lambda e: e.update(hub_address=checksum_address(HUB))),
        ("an upper-case digest", lambda e: e.update(spec_commitment=word("x").upper().replace("0X", "0x"))),
        ("a content key of low order", lambda e: e.update(content_public_key="0x" + "00" * 32)),
        ("a content key that is not canonical", lambda e: e.update(content_public_key="0x" + "ff" * 32)),
        ("a capsule in base64 without padding", lambda e: e.update(key_capsule="YQ")),
        ("a capsule in base64 with spare bits", lambda e: e.update(key_capsule="YR==")),
        ("the digest of another capsule", lambda e: e.update(key_capsule_sha256=word("x"))),
        ("a locator of another Solver", lambda e: e.update(solver_address=GUARDIANS[0])),
        ("round 0", lambda e: e["reveal_policy"].update(round=0)),
        ("an unknown key inside", lambda e: e["reveal_policy"].update(delay=1)),
        ("a length of 0", lambda e: e["ciphertext"].update(byte_length=0)),
    ]
    return {
        "about": "envelope is the exact text; submission_commitment its keccak256. paths are the issues' paths.",
        "accepted": [{"envelope": sample.canonical_bytes().decode(), "submission_commitment": sample.commitment()}],
        "rejected": [_rejected_envelope(sample, reason, change) for reason, change in changes],
    }


def _rejected_envelope(sample: Envelope, reason: str, change: Callable[[Any], object]) -> dict[str, object]:
    value = sample.to_json()
    change(value)
    data = canonical_bytes(value)
    return {"envelope": data.decode(), "reason": reason, "paths": issue_paths(parse_envelope, data)}


def issue_paths(parse: Callable[[bytes], object], data: bytes) -> list[str]:
    """Which issues a parser reports."""
    try:
        parse(data)
    except ServiceError as error:
        return [issue.path for issue in error.issues]
    raise AssertionError("accepted what a vector calls rejected")


def documents() -> dict[str, object]:
    """Challenge pages and written Verdicts."""
    verdict = WrittenVerdict(
        kind=VerdictKind.AWARDED,
        chain_id=CHAIN_ID,
        hub_address=HUB,
        bounty_id=BOUNTY_ID,
        guardian_address=GUARDIANS[0],
        solver_address=SOLVER,
        submission_commitment=envelope().commitment(),
        body="Every tile decodes and the set is half as large.\n",
    )
    nobody = replace(verdict, kind=VerdictKind.NO_VALID_SUBMISSION, solver_address=None, submission_commitment=None)
    pages = [
        ("byte order mark", b"\xef\xbb\xbf" + PAGE),
        ("carriage returns", PAGE.replace(b"\n", b"\r\n")),
        ("not UTF-8", PAGE + b"\xff"),
        ("a control character", PAGE + b"\x00"),
        ("a control character as an escape", PAGE.replace(b"title: ", b'title: "\\0" #')),
        ("no frontmatter", b"# A page\n"),
        ("frontmatter without an end", PAGE.replace(b"---\n# The", b"# The")),
        ("a key twice", PAGE.replace(b"version: 1\n", b"version: 1\nversion: 1\n")),
        ("an anchor", PAGE.replace(b"title: ", b"title: &t ")),
        ("a tag", PAGE.replace(b"version: 1", b"version: !!int 1")),
        ("an unknown key", PAGE.replace(b"contact:", b"phone:")),
        ("an amount with a fraction", PAGE.replace(b'"250000000"', b"2.5")),
        ("a deadline as a date", PAGE.replace(b"1900000000", b"2030-03-17")),
        (
            "no deliverables",
            PAGE.replace(DELIVERABLES, b""),
        ),
        ("an empty list of deliverables", PAGE.replace(DELIVERABLES, b"deliverables: []\n")),
        ("an empty body", PAGE[: PAGE.index(b"# The")]),
        (
            "a title of two lines",
            PAGE.replace(b"title: Halve", b'title: "Halve\\n').replace(b"tile set\n", b'set"\n', 1),
        ),
        ("an empty summary", PAGE.replace(b"The tiles of our map are too large for slow connections.", b'" "')),
        ("a contact that is too long", PAGE.replace(b"tiles@example.org", b"t" * 1_000)),
        ("an amount of zero", PAGE.replace(b"250000000", b"0")),
        ("a deadline beyond 64 bits", PAGE.replace(b"1900000000", b"9223372036854775808")),
        ("a deadline of zero", PAGE.replace(b"1900000000", b"0")),
        ("a language that is none", PAGE.replace(b"language: en", b"language: english!")),
        ("a criterion that is no text", PAGE.replace(b"Every tile decodes", b"every: tile decodes")),
        ("a tag twice", PAGE.replace(b"language: en\n", b"tags:\n  - csv\n  - csv\n")),
    ]
    rendered = render_verdict(verdict)
    verdicts = [
        ("an award without a Submission", rendered.replace(b"submission_commitment", b"commitment")),
        ("a Submission without an award", rendered.replace(b"kind: awarded", b"kind: no_valid_submission")),
        ("another kind", rendered.replace(b"kind: awarded", b"kind: maybe")),
        ("the zero address as Solver", rendered.replace(SOLVER.encode(), b"0x" + b"0" * 40)),
        ("the zero value as Submission", rendered.replace(envelope().commitment().encode(), b"0x" + b"0" * 64)),
        ("chain 0", rendered.replace(b"chain_id: 31337", b"chain_id: 0")),
        ("an empty body", rendered[: rendered.index(b"Every")]),
    ]
    return {
        "about": "document is base64 of the exact bytes; commitment their keccak256; paths are the issues' paths.",
        "challenge_pages": {
            "accepted": [_document(page, spec_commitment(page)) for page in dict.fromkeys((PAGE, COMPLETE_PAGE))],
            "rejected": [_rejected(parse_challenge, reason, data) for reason, data in pages],
        },
        "written_verdicts": {
            "accepted": [_document(data, report_commitment(data)) for data in (rendered, render_verdict(nobody))],
            "rejected": [_rejected(parse_verdict, reason, data) for reason, data in verdicts],
        },
    }


def _document(data: bytes, commitment: str) -> dict[str, object]:
    return {"document": base64.b64encode(data).decode(), "commitment": commitment}


def _rejected(parse: Callable[[bytes], object], reason: str, data: bytes) -> dict[str, object]:
    return {"document": base64.b64encode(data).decode(), "reason": reason, "paths": issue_paths(parse, data)}


FILES: Final = {"canonical_json.json": canonical, "envelope.json": envelopes, "documents.json": documents}
