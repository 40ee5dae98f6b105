"""A machine whose clock is five minutes off: what is proven, counted and promised does not depend on it."""

import secrets
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo

import pytest
from bounty_protocol.clock import iso_utc
from bounty_protocol.types import UnixSeconds
from service_api.app import make_app
from service_api.publishing import review_charges
from service_common.db import app as t
from sqlalchemy import func, insert, select

from tests.api.conftest import Service, error_of
from tests.api.contract import checked_client
from tests.api.pages import page_for
from tests.api.test_written_verdicts import document, refused, write
from tests.protocol.auth.signing import Key
from tests.world import ChainClock

SKEW = 300
PUBLISH = "/api/bounty-challenge-specs/prepare-publication"


class SkewedClock(ChainClock):
    """The chain's time, as a machine tells it whose clock is off."""

    skew = 0

    def now(self) -> UnixSeconds:
        return UnixSeconds(super().now() + self.skew)


class Off(datetime):
    """What such a machine says."""

    at: datetime

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        assert tz is UTC
        return cls.at


@pytest.fixture(params=[-SKEW, SKEW], ids=["behind", "ahead"])
def skewed(service: Service, request: pytest.FixtureRequest) -> Service:
    """An api on such a machine."""
    clock = SkewedClock(service.world.rpc)
    clock.skew = request.param
    resources = replace(service.resources, clock=clock)
    return replace(service, client=checked_client(make_app(resources)), resources=resources)


@pytest.mark.spec(384)
def test_quota__on_a_machine_whose_clock_is_off__frees_at_the_database_s_time(
    skewed: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    off = datetime.now(UTC) + timedelta(seconds=skewed.resources.clock.now() - skewed.world.time())
    monkeypatch.setattr(review_charges, "datetime", Off)
    Off.at = off
    poster = Key(secrets.token_bytes(32))
    with skewed.resources.engine.begin() as connection:
        now = int(connection.execute(select(func.now())).scalar_one().timestamp())
        for number in range(skewed.resources.config.review_quota):
            row = {"review_id": f"{poster.address}-{number}", "poster": poster.address}
            connection.execute(insert(t.review_charges).values(**row))
    page = page_for(skewed.world, title="One too many")
    skewed.world.node.mine(1)
    query = f"poster_address={poster.address}"
    authorization = skewed.authorization(poster.secret.hex(), "POST", PUBLISH, query=query, body=page)
    headers = {"Authorization": authorization, "Content-Type": "text/markdown"}
    response = skewed.client.post(f"{PUBLISH}?{query}", data=page, headers=headers)
    error = error_of(response)
    assert (response.status_code, error["code"]) == (429, "publication_review_limit_reached")
    assert error["retry_not_before"] == iso_utc(now + 24 * 3600 + 1)
    assert abs(int(response.headers["Retry-After"]) - 24 * 3600) < 30


def test_verdict__on_a_machine_whose_clock_is_off__is_early_or_late_by_the_chain(skewed: Service) -> None:
    world = skewed.world
    bounty_id = world.create()
    world.submit(bounty_id, world.solver(1))
    world.finalize()
    early = document(skewed, bounty_id, world.guardian(1))
    world.advance_to(world.reveal_at(bounty_id) - 10)
    world.index()
    assert "reveal point" in refused(write(skewed, world.guardian(1), early))
    world.advance_to(world.reveal_at(bounty_id) + 1)  # and the copy is behind
    response = write(skewed, world.guardian(1), early)
    assert (response.status_code, error_of(response)["code"]) == (503, "bounty_chain_state_unavailable")
    world.finalize()
    assert write(skewed, world.guardian(1), early).status_code == 201
