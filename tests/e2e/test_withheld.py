"""An operator must not show a page and a Verdict of a bounty that has money in it: on a live stack, to the award.

Who sees what instead, who still reads the bytes, from when on, and that nobody is paid another amount for it
(docs/run.md).
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import service_cli
import urllib3
from demo.bounty import Cast, Funded, Submitted

from tests.waiting import wait_until

SUBMISSION_SECONDS: Final = 240
JUDGING_SECONDS: Final = 3_600
TITLE: Final = "Zanzibarian grammar of the withheld kind"
REASON: Final = "Order of the district court, 12 O 34/27"
WRITTEN: Final = "All criteria hold, says the unmentionable paragraph.\n"
AWARD: Final = 24_000_000
PLACES: Final = {"graphql", "detail", "list", "page", "pages", "person"}
"""Where a title stands at least."""
FACTS: Final = ("facts", "guardian_roster", "active_submissions", "active_submission_count")


def operate(cast: Cast, *arguments: str, code: int = 0) -> str:
    """The operator's command, with what the running api-worker has; what it printed, both streams."""
    program = Path(sys.executable).parent / "service-api"
    done = subprocess.run(
        [program, *arguments],
        env=cast.stack.services["api-worker"].variables(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def get(address: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    answer = urllib3.request("GET", address, timeout=20.0, retries=False, headers=headers or {})
    return answer.status, answer.data


def read(address: str) -> Any:
    return json.loads(get(address)[1])


def page_text(address: str) -> str:
    return get(address)[1].decode()


def signed(cast: Cast, name: str, path: str) -> tuple[int, bytes]:
    """A read by somebody's signature."""
    url, person = f"{cast.stack.api_base_url}{path}", cast.stack.people.by_name()[name]
    headers = service_cli.sign_request(
        "GET",
        url,
        rpc_url=cast.stack.anvil.url,
        hub_address=cast.stack.hub.hub.address,
        private_key=person.wallet.private_key,
    )
    return get(url, dict(headers))


def everywhere(cast: Cast, bounty: Funded) -> dict[str, str]:
    """All places where the texts of a bounty are for anyone to read."""
    api, pages = cast.stack.api_base_url, cast.stack.pages_url
    query = "{ bounties(first: 50) { id title summary tags withheld_reason } }"
    graphql = urllib3.request("POST", f"{api}/subgraph", json={"query": query}, timeout=20.0)
    places = {
        "detail": f"{api}/api/bounties/{bounty.bounty_id}",
        "list": f"{api}/api/bounties?limit=100",
        "changes": f"{api}/api/changes",
        "page": f"{pages}/bounties/{bounty.bounty_id}",
        "challenge.md": f"{pages}/bounties/{bounty.bounty_id}/challenge.md",
        "pages": f"{pages}/?show=all",
        "feed": f"{pages}/feed.atom",
        "feed of the bounty": f"{pages}/bounties/{bounty.bounty_id}/feed.atom",
        "person": f"{pages}/people/{cast.address('poster')}",
    }
    return {"graphql": graphql.data.decode(), **{name: page_text(address) for name, address in places.items()}}


def noted(name: str, began: float) -> None:
    print(f"{name}: {time.monotonic() - began:.1f} s", file=sys.stderr)


class Watched:
    """The bounty whose texts are withheld, and where it is read."""

    def __init__(self, cast: Cast, bounty: Funded) -> None:
        self.cast, self.bounty = cast, bounty
        self.detail = f"{cast.stack.api_base_url}/api/bounties/{bounty.bounty_id}"
        self.download = f"{cast.stack.pages_url}/bounties/{bounty.bounty_id}/challenge.md"
        self.signed_page = f"/api/bounties/{bounty.bounty_id}/challenge"
        wait_until(lambda: self.showing(TITLE) >= PLACES)
        self.facts, self.bytes, self.shown = self.read_facts(), get(self.download)[1], self.showing(TITLE)

    def showing(self, text: str) -> set[str]:
        """The places with this text."""
        return {name for name, shown in everywhere(self.cast, self.bounty).items() if text in shown}

    def read_facts(self) -> dict[str, object]:
        found = read(self.detail)
        return {name: found[name] for name in FACTS}


def refuse_what_is_none(watched: Watched) -> None:
    """What would change a fact, is not there, or has no reason, is refused and changes nothing."""
    number = watched.bounty.bounty_id
    operate(watched.cast, "withhold", "outcome", number, "--reason", REASON, code=1)
    operate(watched.cast, "withhold", "bounty", "999999", "--reason", REASON, code=1)
    operate(watched.cast, "withhold", "bounty", number, code=1)
    assert watched.showing(TITLE) == watched.shown


def withhold_page(watched: Watched) -> None:
    cast, began = watched.cast, time.monotonic()
    operate(cast, "withhold", "bounty", watched.bounty.bounty_id, "--reason", REASON, "--by", "Ada, on duty")
    wait_until(lambda: read(watched.detail)["challenge"] is None)
    noted("the page is gone from the api", began)
    wait_until(lambda: watched.showing(TITLE) == set())
    noted("the page is gone everywhere", began)
    assert watched.read_facts() == watched.facts
    shown = everywhere(cast, watched.bounty)
    assert {name for name in ("detail", "list", "graphql", "page", "pages") if REASON not in shown[name]} == set()
    assert not [name for name, text in shown.items() if "Ada, on duty" in text]
    assert read(watched.detail)["error"]["code"] == "bounty_challenge_withheld"
    assert get(watched.download)[0] == 451
    assert REASON in page_text(f"{cast.stack.pages_url}/withheld")
    assert read(f"{cast.stack.api_base_url}/api/bounties?search=Zanzibarian")["items"] == []


def read_by_those_who_take_part(watched: Watched, work: Submitted) -> None:
    """Whoever came to take part after the decision is not one of them."""
    cast, words = watched.cast, (watched.bounty.bounty_id, str(work.directory))
    solver = cast.person("solver-2")
    refused = solver.run("solver:submit", *words, code=1).events[-1]
    assert refused.text("code") == "challenge_withheld"
    solver.run("solver:submit", *words, "--accept-term-differences").event("submit.submission_recorded")
    for name in ("poster", "solver-1", "guardian-1"):
        assert signed(cast, name, watched.signed_page) == (200, watched.bytes), name
    for name in ("solver-2", "settler"):
        assert signed(cast, name, watched.signed_page)[0] == 403, name


def judge_and_withhold_the_reasons(watched: Watched, work: Submitted) -> str:
    """The text of a Verdict is withheld, its outcome is not; where it was read."""
    cast, bounty = watched.cast, watched.bounty
    cast.wait_for(bounty.reveal_at)
    ran = cast.award(bounty, "guardian-1", work, WRITTEN, opened=False)
    report = ran.event("guardian_verdict.recorded").text("report_commitment")
    verdict = f"{cast.stack.api_base_url}/api/written-verdicts/{report}"
    wait_until(lambda: "page" in watched.showing(WRITTEN.strip()))
    began = time.monotonic()
    operate(cast, "withhold", "verdict", report, "--reason", REASON)
    wait_until(lambda: get(verdict)[0] == 451)
    noted("the Verdict is gone from the api", began)
    assert json.loads(get(verdict)[1])["error"]["code"] == "written_verdict_withheld"
    wait_until(lambda: watched.showing(WRITTEN.strip()) == set())
    noted("the Verdict is gone everywhere", began)
    assert WRITTEN.strip().encode() in signed(cast, "guardian-2", f"/api/written-verdicts/{report}/document")[1]
    cast.award(bounty, "guardian-2", work, "All criteria hold.\n", opened=False)
    return report


def pay_and_audit(watched: Watched, work: Submitted) -> None:
    cast, number = watched.cast, watched.bounty.bounty_id
    wait_until(lambda: read(watched.detail).get("verification_record") is not None)
    held = cast.token_balance(work.solver)
    cast.person("solver-1").run("claim", number)
    assert cast.token_balance(work.solver) - held == AWARD
    audit = cast.person("solver-1").audit(number)
    not_compared = {each.text("requirement") for each in audit.events if each.name == "audit.not_compared"}
    assert not_compared == {"bounty.challenge", "bounty.verdict"}


def show_again(watched: Watched, report: str) -> None:
    """The order is lifted: the same bytes are there."""
    cast, began = watched.cast, time.monotonic()
    operate(cast, "show-again", "bounty", watched.bounty.bounty_id, "--reason", "The order was lifted")
    operate(cast, "show-again", "verdict", report, "--reason", "The order was lifted")
    wait_until(lambda: watched.showing(TITLE) >= PLACES)
    noted("shown again everywhere", began)
    assert get(watched.download) == (200, watched.bytes)
    assert get(f"{cast.stack.api_base_url}/api/written-verdicts/{report}")[0] == 200


def test_texts__that_an_operator_withholds__are_gone_while_the_bounty_goes_on(cast: Cast) -> None:
    bounty = cast.fund(submission_seconds=SUBMISSION_SECONDS, judging_seconds=JUDGING_SECONDS, title=TITLE)
    work = cast.submit(bounty, "solver-1")
    watched = Watched(cast, bounty)
    refuse_what_is_none(watched)
    withhold_page(watched)
    read_by_those_who_take_part(watched, work)
    report = judge_and_withhold_the_reasons(watched, work)
    pay_and_audit(watched, work)
    show_again(watched, report)
