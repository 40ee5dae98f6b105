"""The pages beside the real api: what a browser gets is what the people at the shell did."""

import io
from collections.abc import Callable

import feedparser
import urllib3
from bounty_protocol.domain.challenge.commitments import spec_commitment
from demo.bounty import Cast, Funded
from demo.examples import EXAMPLES

Get = Callable[[str], bytes]


def getter(cast: Cast) -> Get:
    def get(path: str) -> bytes:
        answer = urllib3.request("GET", f"{cast.stack.pages_url}{path}", timeout=20.0, retries=False)
        assert answer.status == 200, (path, answer.status)
        return answer.data

    return get


def test_pages_are_made_of_what_people_did(cast: Cast) -> None:
    get = getter(cast)
    bounty: Funded = cast.fund(submission_seconds=600, judging_seconds=600, title="Look at this page")
    submitted = cast.submit(bounty, "solver-2", note="to look at")
    assert cast.page_shows(bounty, "Open for work")
    assert cast.page_shows(bounty, f"{submitted.solver[:6]}…{submitted.solver[-4:]}")

    page = get(f"/bounties/{bounty.bounty_id}/challenge.md")
    assert spec_commitment(page) == bounty.spec_commitment
    example = (EXAMPLES / "bounty_challenge.md").read_text(encoding="utf-8")
    assert page.decode().partition("---\n\n")[2] == example.partition("---\n\n")[2]

    assert b"Look at this page" in get("/")
    poster, guardian = cast.address("poster"), cast.address("guardian-1")
    assert b"Look at this page" in get(f"/people/{poster}")
    assert b"Judge the Submissions once they can be opened" in get(f"/people/{guardian}")
    assert guardian.encode() in get("/guardians")
    assert b"Everything answers" in get("/deployment")

    entries = feedparser.parse(io.BytesIO(get(f"/bounties/{bounty.bounty_id}/feed.atom"))).entries
    assert [each.title for each in entries] == ["Submission: Look at this page", "New: Look at this page"]
