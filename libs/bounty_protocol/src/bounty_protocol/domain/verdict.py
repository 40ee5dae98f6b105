"""The written Verdict: a Markdown document that names exactly what a Guardian records on chain.

A document that parses names its chain, Hub, bounty, Guardian and outcome in canonical form; ``render_verdict`` writes
documents that parse back to the same fields. Unknown fields, an award without its Submission and a Submission without
an award are ``invalid_written_verdict``, with all issues at once. Who may sign it is not decided here.
"""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.challenge.field_reader import FieldReader
from bounty_protocol.domain.challenge.frontmatter import MAX_DOCUMENT_BYTES, FrontmatterError, split_document
from bounty_protocol.domain.challenge.page import only_version
from bounty_protocol.domain.lifecycle.states import VerdictKind
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.types import (
    MAX_INT64,
    ZERO_ADDRESS,
    ZERO_BYTES32,
    Address,
    BountyId,
    Bytes32,
    ChainId,
    parse_address,
    parse_bounty_id,
    parse_bytes32,
    parse_decimal,
)

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class WrittenVerdict:
    """A Guardian's reasons (``body``) and the Verdict they support. Awards name a Solver and a Submission."""

    kind: VerdictKind
    chain_id: ChainId
    hub_address: Address
    bounty_id: BountyId
    guardian_address: Address
    solver_address: Address | None
    submission_commitment: Bytes32 | None
    body: str
    version: int = VERSION


def parse_verdict(document: bytes, max_bytes: int = MAX_DOCUMENT_BYTES) -> WrittenVerdict:
    """Read a written Verdict or raise ``invalid_written_verdict`` with all issues."""
    try:
        split = split_document(document, max_bytes)
    except FrontmatterError as error:
        raise _invalid(error.issues) from None
    reader = FieldReader(split.frontmatter)
    awarded = split.frontmatter.get("kind") == VerdictKind.AWARDED
    verdict = WrittenVerdict(
        version=reader.text("version", only_version),
        kind=reader.text("kind", _kind),
        chain_id=reader.text("chain_id", _chain_id),
        hub_address=reader.text("hub_address", parse_address),
        bounty_id=reader.text("bounty_id", parse_bounty_id),
        guardian_address=reader.text("guardian_address", parse_address),
        solver_address=reader.text("solver_address", _named_address) if awarded else None,
        submission_commitment=reader.text("submission_commitment", _named_bytes32) if awarded else None,
        body=split.body,
    )
    if not split.body.strip():
        reader.problem("body", "must give the reasons below the frontmatter; it is empty")
    issues = reader.finish()
    if issues:
        raise _invalid(issues)
    return verdict


def render_verdict(verdict: WrittenVerdict) -> bytes:
    """Render the document whose bytes ``report_commitment`` hashes.

    Addresses and commitments are quoted, so that any YAML reader keeps them as text. Raises ``invalid_written_verdict``
    if the result could not be parsed again (an empty body, carriage returns, oversize).
    """
    fields = [
        ("version", str(verdict.version)),
        ("kind", verdict.kind.value),
        ("chain_id", str(verdict.chain_id)),
        ("hub_address", f'"{verdict.hub_address}"'),
        ("bounty_id", str(verdict.bounty_id)),
        ("guardian_address", f'"{verdict.guardian_address}"'),
    ]
    if verdict.solver_address is not None:
        fields.append(("solver_address", f'"{verdict.solver_address}"'))
    if verdict.submission_commitment is not None:
        fields.append(("submission_commitment", f'"{verdict.submission_commitment}"'))
    head = "".join(f"{name}: {value}\n" for name, value in fields)
    document = f"---\n{head}---\n{verdict.body}".encode()
    if parse_verdict(document) != verdict:
        raise _invalid([])
    return document


def _kind(text: str) -> VerdictKind:
    try:
        return VerdictKind(text)
    except ValueError:
        raise ValueError("must be awarded or no_valid_submission") from None


def _chain_id(text: str) -> ChainId:
    number = parse_decimal(text)
    if not 1 <= number <= MAX_INT64:
        raise ValueError("must be a chain id")
    return ChainId(number)


def _named_address(text: str) -> Address:
    if parse_address(text) == ZERO_ADDRESS:
        raise ValueError("must name the Solver; the zero address is nobody")
    return parse_address(text)


def _named_bytes32(text: str) -> Bytes32:
    if parse_bytes32(text) == ZERO_BYTES32:
        raise ValueError("must name the Submission; zero is none")
    return parse_bytes32(text)


def _invalid(issues: list[Issue]) -> ServiceError:
    return ServiceError("invalid_written_verdict", "the written Verdict is not in the required form", issues=issues)
