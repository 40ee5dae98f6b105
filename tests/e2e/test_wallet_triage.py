"""Many Submissions on a bounty's page: a Guardian sees which are worth a download before any work is downloaded."""

import json
import re
from pathlib import Path

import pytest
import urllib3
from demo.bounty import Cast, Funded, Submitted

from tests.cli.lies import listen
from tests.cli.servers import Reply, Request, Server
from tests.e2e.copied import copy_bytes, copy_commitment
from tests.e2e.wallet_acts import GO_ON, SIGN, forward, path_of
from tests.e2e.wallet_pages import opened, wallet_of
from tests.e2e.wallet_plays import api_answer, listed
from tests.web.driver import Browser, Page

SECONDS = 45
LONG = 3_600
KEYS = "File with your encryption keys"
LOOK = "Look at the chosen"
OPEN = "Open the chosen one"


@pytest.fixture(scope="module")
def crowded(cast: Cast) -> tuple[Funded, Submitted]:
    """A work, its bytes in an envelope of another account, its commitment by a third, and a commitment to nothing."""
    bounty = cast.fund(submission_seconds=SECONDS, judging_seconds=LONG, title="Crowded")
    work = cast.submit(bounty, "solver-1")
    copy_bytes(cast, bounty, work)
    copy_commitment(cast, bounty, work.commitment)
    copy_commitment(cast, bounty, "0x" + "5e" * 32)
    cast.wait_for(bounty.reveal_at + 1)
    return bounty, work


def give_keys(cast: Cast, page: Page, folder: Path, name: str = "guardian-1") -> None:
    identity = cast.stack.people.by_name()[name].identity
    assert identity is not None
    keys = folder / "keys.txt"
    keys.write_text(identity.to_text())
    page.upload(KEYS, keys)


def look(page: Page, *numbers: int) -> None:
    for number in numbers:
        page.do("tick", label=f"Number {number}")
    page.choose("What to do", LOOK)
    page.press(GO_ON)
    page.wait("Read the sealed work")
    page.press(SIGN)


def line_of(page: Page, number: int) -> str:
    """What is shown of one Submission."""
    text = page.text().partition(f"Number {number}\n")[2]
    return text.partition("\nNumber ")[0].partition("\nWhat to do")[0].strip()


def test_triage__of_a_crowded_bounty__shows_what_opens_and_downloads_no_work(
    cast: Cast, browser: Browser, crowded: tuple[Funded, Submitted], tmp_path: Path
) -> None:
    bounty, work = crowded
    page = opened(cast, browser, "guardian-1", path_of(bounty))
    page.press("Look at them")
    page.wait("0 of 4 Submissions looked at")
    page.check()
    assert f"Submission {work.commitment} of {work.solver}" in line_of(page, 1)
    assert re.search(r"; won \d+ of [1-9]\d*, first Submission 20", line_of(page, 1))
    assert "; won 0 of 1, first Submission 20" in line_of(page, 2)
    copied = "the commitment of number 1, which opens for one account alone"
    assert copied in line_of(page, 3)  # which the list alone shows
    page.press(GO_ON)
    page.wait("Choose at least one Submission")
    assert page.asked() == []

    give_keys(cast, page, tmp_path)
    look(page, 1, 2, 3, 4)
    page.wait("3 of 4 Submissions looked at: 1 would open")
    assert len(page.asked()) == 1  # one signature for all of them
    downloads = [each for each in page.requests() if each.startswith(f"GET {cast.stack.gcs.url}")]
    assert [each.rpartition(" ")[2].partition("=")[0] for each in downloads] == ["bytes"], "the begin of one"
    assert line_of(page, 1).endswith("; opens")
    assert "the sealed bytes of number 1; does not open: " in line_of(page, 2)  # the same ciphertext
    assert "does not open: " in line_of(page, 3)
    assert "not known yet: " in line_of(page, 4)  # the service does not have it

    page.do("tick", label="Number 4")
    page.choose("What to do", "Leave the chosen out")
    page.press(GO_ON)
    page.wait("left out; not known yet")
    page.choose("Order", "Largest first")
    page.do("tick", label="Number 1")
    page.choose("What to do", OPEN)
    page.press(GO_ON)
    page.wait("Read the sealed work")
    page.press(SIGN)
    page.wait("Save the work")
    page.close()

    page = browser.open(f"{cast.stack.pages_url}{path_of(bounty)}", wallet_of(cast, "guardian-1"))
    page.connect()  # another visit goes on where this one ended
    page.press("Look at them")
    page.wait("3 of 4 Submissions looked at: 1 would open")  # what the service does not have may come yet
    assert "opened here; opens" in line_of(page, 1)
    assert "opened here" not in line_of(page, 3)  # the same commitment, of another account
    assert "left out; not looked at" in line_of(page, 4)
    assert page.asked() == []
    page.close()


def test_look__of_what_the_storage_was_too_slow_for__asks_for_that_alone_once_more(
    cast: Cast, browser: Browser, crowded: tuple[Funded, Submitted], tmp_path: Path
) -> None:
    bounty, work = crowded
    asked: list[list[str]] = []

    def slow_once(request: Request) -> Reply:
        status, body, headers = forward(cast.stack.api_base_url, request)
        if request.path.endswith("/submissions/contents") and request.method == "POST":
            asked.append(json.loads(request.body)["submission_commitments"])
            answer = json.loads(body)
            if len(asked) == 1:
                error = {"code": "storage_unavailable", "message": "Slow.", "issues": [], "next_action": "Ask again."}
                answer["items"][0] |= {"content": None, "error": error, "retry_after": 2}
            body = json.dumps(answer).encode()
        return status, body, headers

    api = Server(slow_once)
    page = opened(cast, browser, "guardian-2", path_of(bounty), api)
    page.press("Look at them")
    page.wait("0 of 4 Submissions looked at")
    give_keys(cast, page, tmp_path, "guardian-2")
    look(page, 1, 2)
    page.wait("2 of 4 Submissions looked at: 1 would open")
    assert line_of(page, 1).endswith("; opens")
    assert [len(each) for each in asked] == [2, 1]
    assert asked[1] == [work.commitment]
    assert len(page.asked()) == 2
    page.close()
    api.close()


def test_download__that_breaks_off__goes_on_where_it_ended(
    cast: Cast, browser: Browser, crowded: tuple[Funded, Submitted], tmp_path: Path
) -> None:
    """It ended as a fault of the page, and began anew with another signature and the keys each time."""
    bounty, work = crowded
    store = cast.stack.gcs.url

    def breaks_off_once(request: Request) -> Reply:
        headers = {name: request.headers[name] for name in ("range",) if name in request.headers}
        found = urllib3.request("GET", f"{store}{request.path}?{request.query}", headers=headers, retries=False)
        length = len(found.data) if headers else len(found.data) // 2
        return found.status, found.data[:length], {}

    storage = Server(breaks_off_once)
    url = f"{cast.stack.pages_url}{path_of(bounty)}"
    page = browser.open(url, wallet_of(cast, "guardian-2"), api=(store, storage.url))
    page.connect()
    page.press("Open work")
    page.wait("Submission to open")
    page.choose("Submission to open", f"Submission {work.commitment} of {work.solver}")
    give_keys(cast, page, tmp_path, "guardian-2")
    page.press(GO_ON)
    page.wait("Read the sealed work")
    page.press(SIGN)
    page.wait("Save the work")
    assert [each.headers.get("range", "").partition("=")[0] for each in storage.requests] == ["", "bytes"]
    page.close()
    storage.close()


NONE = "No valid Submission"


def test_work__that_a_bounty_s_detail_does_not_list__can_be_judged_and_opened(
    cast: Cast, browser: Browser, crowded: tuple[Funded, Submitted]
) -> None:
    """A detail has the oldest thousand: whoever made so many early kept every later one off the page."""
    bounty, work = crowded
    named = f"Submission {work.commitment}"
    api = Server(lambda request: forward(cast.stack.api_base_url, request))
    listen(api, listed(lambda _: []))
    page = opened(cast, browser, "guardian-1", path_of(bounty), api)
    for button, form, field in (
        ("Write the Verdict", "Your Verdict", "Verdict"),
        ("Open work", "Your encryption keys", "Submission to open"),
    ):
        page.press(button)
        page.wait(form)
        page.choose(field, named)
    assert "further" not in page.text("#acting")
    page.close()
    api.close()


def test_verdict__while_the_service_lists_some_nowhere__says_so_and_finds_none_valid_only_by_words(
    cast: Cast, browser: Browser, crowded: tuple[Funded, Submitted]
) -> None:
    bounty, _ = crowded
    api = Server(lambda request: forward(cast.stack.api_base_url, request))
    short = listed(lambda all_of_them: all_of_them[:1])
    unindexed = api_answer("/subgraph", lambda _: {"data": {"submissions": None}})
    listen(api, lambda question, answer: unindexed(question, short(question, answer)))
    page = opened(cast, browser, "guardian-3", path_of(bounty), api)
    page.press("Open work")
    page.wait("3 further Submissions cannot be chosen: the service counts and does not list them.")
    page.press("Not now")
    page.press("Write the Verdict")
    page.wait("3 further Submissions cannot be chosen: the service counts and does not list them.")
    page.check()
    page.choose("Verdict", NONE)
    page.fill("Reasons", "None of them holds.")
    page.press(GO_ON)
    page.wait("4 Submissions were never opened in this browser. A Verdict that decides cannot be taken back.")
    page.press(GO_ON)
    page.wait_alert("Open the work first")
    page.fill("Your words", "opened elsewhere")
    page.press(GO_ON)
    assert "no valid Submission" in page.wait("Publish your reasons")
    assert page.asked() == []
    page.close()
    api.close()
