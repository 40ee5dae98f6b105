"""Publishing a challenge page."""

import re
from dataclasses import replace

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.money.abi_hashes import authorization_nonce
from bounty_protocol.types import parse_address
from service_api.app import make_app
from service_common.db import app as t
from sqlalchemy import func, select

from tests.api.conftest import Service, error_of
from tests.api.contract import checked_client
from tests.api.pages import page_for
from tests.vectors.samples import terms_of


@pytest.mark.spec(1, 13, 50, 51, 122, 126, 127, 128)
def test_ready_page_has_terms_bound_to_its_bytes(service: Service) -> None:
    page = page_for(service.world, title="Ready")
    answer = service.publish(page).json
    assert answer is not None
    assert answer["spec_commitment"] == spec_commitment(page)
    assert answer["byte_length"] == len(page)
    terms = terms_of(answer["create_bounty"]["args"][0])
    assert terms.spec_commitment == spec_commitment(page)
    assert terms.escrow_amount == 25_000_000
    assert terms.max_protocol_fee == 250_000
    assert terms.expected_roster_hash == service.world.hub.roster_hash
    assert answer["fee_policy"]["protocol_fee_bps"] == service.world.contract.call("feePolicy")[0] == 100
    poster = parse_address(service.world.people.poster.address)
    nonce = authorization_nonce(service.world.chain_id, service.world.hub_address, poster, terms)
    assert answer["authorization_typed_data"]["message"]["nonce"] == nonce
    assert answer["create_bounty_with_authorization"]["args"][4] is None
    on_chain = service.world.contract.call("authorizationNonce", terms.as_tuple(), poster)
    assert "0x" + on_chain.hex() == nonce


def test_page_at_a_left_hub_is_not_published(service: Service) -> None:
    """Nobody reviews there: each page would wait in Redis, and each check be an error that pages the operator."""
    config = replace(service.resources.config, takes_publications=False)
    left = replace(service, client=checked_client(make_app(replace(service.resources, config=config))))
    page = page_for(service.world, title="Too late")
    check = "/api/bounty-challenge-specs/check"
    answers = left.publish(page), left.client.post(check, data=page, headers={"Content-Type": "text/markdown"})
    for answer in answers:
        assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid_bounty_challenge")
    with service.resources.engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(t.review_charges)).scalar() == 0


def test_publication_ends_with_the_announced_roster(
    service: Service,
) -> None:
    world = service.world
    members = [(g.wallet, g.identity.public_key) for g in world.people.guardians if g.identity]
    current = world.hub.roster_hash
    world.announce_roster(members, 2)
    _, effective = world.contract.call("announcedRoster")
    try:
        answer = service.publish(page_for(world, title="Announced")).json
        assert answer is not None
        assert answer["guardian_roster"]["guardian_roster_hash"] == current
        assert answer["authorization_typed_data"]["message"]["validBefore"] == str(effective)
        assert answer["create_bounty_with_authorization"]["args"][3] == str(effective)
        shown = service.client.get("/api/deployment").json
        assert shown is not None
        assert shown["guardian_roster"]["guardian_roster_hash"] == current
    finally:
        world.publish_roster(members, 2)
    shown = service.client.get("/api/deployment").json
    assert shown is not None
    assert shown["guardian_roster"]["guardian_roster_hash"] == world.hub.roster_hash != current


@pytest.mark.spec(124, 130, 350, 354, 358)
def test_unready_page_lists_every_issue(service: Service) -> None:
    page = page_for(service.world, title="TBD", summary="Details to follow.")
    response = service.publish(page)
    assert response.status_code == 400
    error = error_of(response)
    assert error["code"] == "bounty_challenge_not_ready"
    paths = {issue["path"] for issue in error["issues"]}  # type: ignore[attr-defined]
    assert {"title", "summary"} <= paths


@pytest.mark.spec(88, 123, 131, 359)
def test_malformed_page_is_refused_unreviewed(service: Service) -> None:
    page = page_for(service.world, escrow_amount="2.5e7", title="Malformed")
    page = re.sub(rb"(?m)^language: en$", b"reward: high", page)
    error = error_of(service.publish(page))
    assert error["code"] == "invalid_bounty_challenge"
    assert {issue["path"] for issue in error["issues"]} == {"escrow_amount", "reward"}  # type: ignore[attr-defined]


def test_thousands_of_faults_name_fifty(service: Service) -> None:
    page = page_for(service.world, title="Faulty")
    page = page.replace(b"---\n", b"---\n" + b"".join(b"x%d: y\n" % n for n in range(900)), 1)
    issues = error_of(service.publish(page))["issues"]
    assert isinstance(issues, list)
    assert len(issues) == 51
    assert issues[-1] == {"path": "more", "message": "850 more issues are not shown; correct these first"}


def test_terms_the_hub_would_refuse_are_all_named(service: Service) -> None:
    page = page_for(service.world, deadline=1_000, escrow_amount="1", judging_window_seconds="1")
    error = error_of(service.publish(page))
    assert error["code"] == "invalid_bounty_challenge"
    paths = {issue["path"] for issue in error["issues"]}  # type: ignore[attr-defined]
    assert paths == {"submission_deadline", "escrow_amount", "judging_window_seconds"}
    messages = {issue["path"]: issue["message"] for issue in error["issues"]}  # type: ignore[attr-defined]
    assert "base units (1 " in messages["escrow_amount"]
    assert re.search(r"\(20\d\d-\d\d-\d\dT[\d:]+Z\)", messages["submission_deadline"])


@pytest.mark.spec(121, 133, 321, 364)
def test_other_wallet_than_declared_is_forbidden(service: Service) -> None:
    page = page_for(service.world)
    response = service.signed(
        service.world.solver(1).private_key,
        "POST",
        "/api/bounty-challenge-specs/prepare-publication",
        query=f"poster_address={service.world.people.poster.address}",
        body=page,
        media_type="text/markdown",
    )
    assert (response.status_code, error_of(response)["code"]) == (403, "forbidden")


@pytest.mark.spec(15, 129)
def test_prepared_page_is_sent_by_its_poster_alone(service: Service) -> None:
    newest = header_at(service.world.rpc, "latest")
    answer = service.publish(page_for(service.world, title="Not sent"))
    assert answer.status_code == 200
    assert header_at(service.world.rpc, "latest") == newest, "a transaction would have been mined at once"


@pytest.mark.spec(120)
@pytest.mark.parametrize("names", [(), ("poster_address", "poster_address"), ("poster_address", "more")])
def test_publication_names_exactly_one_poster(service: Service, names: tuple[str, ...]) -> None:
    poster = service.world.people.poster.wallet
    response = service.signed(
        poster.private_key,
        "POST",
        "/api/bounty-challenge-specs/prepare-publication",
        query="&".join(f"{name}={poster.address}" for name in names),
        body=page_for(service.world),
        media_type="text/markdown",
    )
    assert (response.status_code, error_of(response)["code"]) == (400, "invalid_request")


@pytest.mark.spec(134, 334, 365)
def test_publication_resent_is_409_and_can_be_joined(service: Service) -> None:
    page = page_for(service.world, title="Sent twice")
    first = service.publish(page)
    assert first.status_code == 200
    again = service.client.post(
        first.request.path,
        query_string=first.request.query_string.decode(),
        data=page,
        headers={"Authorization": first.request.headers["Authorization"], "Content-Type": "text/markdown"},
    )
    assert (again.status_code, error_of(again)["code"]) == (409, "publication_review_unavailable")
    service.world.node.mine(1)
    joined = service.publish(page)
    assert joined.status_code == 200
    assert joined.json is not None
    assert first.json is not None
    assert joined.json["review"] == first.json["review"]


def test_refused_page_leaves_nothing(service: Service) -> None:
    page = page_for(service.world, title="No terms", escrow_amount="1")
    first = service.publish(page)
    again = service.client.post(
        first.request.path,
        query_string=first.request.query_string.decode(),
        data=page,
        headers={"Authorization": first.request.headers["Authorization"], "Content-Type": "text/markdown"},
    )
    assert [(each.status_code, error_of(each)["code"]) for each in (first, again)] == [
        (400, "invalid_bounty_challenge")
    ] * 2
    with service.resources.engine.connect() as connection:
        assert connection.execute(select(t.processed_approvals)).all() == []


@pytest.mark.spec(38, 135, 366, 376, 377)
def test_quota_is_429_and_spares_reviewed_pages(service: Service) -> None:
    pages = [page_for(service.world, title=f"Quota {number}") for number in range(5)]
    assert [service.publish(page).status_code for page in pages[:4]] == [200] * 4
    refused = service.publish(pages[4])
    error = error_of(refused)
    assert (refused.status_code, error["code"]) == (429, "publication_review_limit_reached")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", str(error["retry_not_before"]))
    assert 86_000 < int(refused.headers["Retry-After"]) <= 86_402
    service.world.node.mine(1)
    assert service.publish(pages[0]).status_code == 200
