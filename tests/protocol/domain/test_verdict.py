"""The written Verdict."""

from dataclasses import replace

import pytest
from bounty_protocol.domain.lifecycle.states import VerdictKind
from bounty_protocol.domain.verdict import WrittenVerdict, parse_verdict, render_verdict
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, checksum_address
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors.samples import BOUNTY_ID, CHAIN_ID, GUARDIANS, HUB, SOLVER, word

AWARDED = WrittenVerdict(
    kind=VerdictKind.AWARDED,
    chain_id=CHAIN_ID,
    hub_address=HUB,
    bounty_id=BOUNTY_ID,
    guardian_address=GUARDIANS[0],
    solver_address=SOLVER,
    submission_commitment=word("submission"),
    body="It halves the set and every tile decodes.\n",
)
NOBODY = replace(
    AWARDED, kind=VerdictKind.NO_VALID_SUBMISSION, solver_address=None, submission_commitment=None, body="None.\n"
)


@pytest.mark.spec(65, 71, 72)
@pytest.mark.parametrize("verdict", [AWARDED, NOBODY])
def test_verdict__rendered_and_read__the_same(verdict: WrittenVerdict) -> None:
    assert parse_verdict(render_verdict(verdict)) == verdict


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl"]), min_size=1).filter(str.strip))
def test_verdict__any_body__rendered_and_read_the_same(body: str) -> None:
    verdict = replace(AWARDED, body=body.replace("\u2029", "").replace("\ufeff", "") + "x")
    try:
        assert parse_verdict(render_verdict(verdict)).body == verdict.body
    except ServiceError as error:  # only what the document format itself refuses
        assert any(issue.path == "document" for issue in error.issues)


def test_rendered_verdict_quotes_numbers() -> None:
    text = render_verdict(AWARDED).decode()
    assert f'hub_address: "{HUB}"\n' in text
    assert "bounty_id: 7\n" in text


def test_checksummed_address_is_read_as_lowercase() -> None:
    document = render_verdict(AWARDED).replace(SOLVER.encode(), checksum_address(SOLVER).encode())
    assert parse_verdict(document) == AWARDED


@pytest.mark.parametrize("body", ["", " \n", "line\r\n", "nul\0"])
def test_body_without_commitment_is_not_rendered(body: str) -> None:
    with pytest.raises(ServiceError):
        render_verdict(replace(NOBODY, body=body))


def test_field_that_reads_back_other_is_not_rendered() -> None:
    with pytest.raises(ServiceError):
        render_verdict(replace(AWARDED, solver_address=Address(checksum_address(SOLVER))))


@pytest.mark.spec(71, 72)
def test_award_without_submission_is_not_rendered() -> None:
    with pytest.raises(ServiceError):
        render_verdict(replace(AWARDED, submission_commitment=None))
    with pytest.raises(ServiceError):
        render_verdict(replace(NOBODY, solver_address=SOLVER))
