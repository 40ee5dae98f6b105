"""The programs of ``examples/notices``, each run as it is: over the real pages, with stand-ins of where they write."""

import email
import email.policy
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.servers import Reply, Request, Server
from tests.titles import HOSTILE
from tests.web.conftest import Pages
from tests.web.fake_api import SOLVERS, page_of

EXAMPLES = Path(__file__).parents[2] / "examples/notices"
MENTIONS = "@everyone <!channel> <https://evil.example|click> [a](https://evil.example) `x`"


@pytest.fixture
def address(pages: Pages) -> Iterator[str]:
    """Where the pages are served."""

    def answer(request: Request) -> Reply:
        got = pages.get(f"{request.path}?{request.query}" if request.query else request.path)
        return got.status_code, got.get_data(), {"Content-Type": got.headers["Content-Type"]}

    server = Server(answer)
    yield server.url
    server.close()


class Receiver:
    """Where an example writes: it keeps what came, and refuses when it is told to."""

    def __init__(self) -> None:
        self.refuses = False
        self.got: list[Request] = []
        self.issues: list[dict[str, object]] = []
        self.server = Server(self._answer)

    def _answer(self, request: Request) -> Reply:
        if self.refuses:
            return 503, b"", {}
        self.got.append(request)
        if request.method == "GET":  # issues of GitHub, in pages of one
            number = int(request.query.rpartition("page=")[2])
            return 200, json.dumps(self.issues[number - 1 : number]).encode(), {"Content-Type": "application/json"}
        if request.path.endswith("/issues"):
            self.issues.append(request.json())
        return 200, b"{}", {"Content-Type": "application/json"}

    def posted(self) -> list[Request]:
        return [request for request in self.got if request.method == "POST"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.close()


def run(
    folder: Path, program: str, *arguments: str, fails: bool = False, variables: dict[str, str] | None = None
) -> str:
    command = [sys.executable, str(EXAMPLES / f"{program}.py"), *arguments]
    environment = {"PATH": os.environ["PATH"], **(variables or {})}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode != 0) is fails, done.stderr
    return done.stdout


@pytest.mark.parametrize("chat", ["slack", "discord", "ntfy"])
def test_chat__of_new_bounties__gets_each_once_and_mentions_nobody(
    pages: Pages, address: str, receiver: Receiver, tmp_path: Path, chat: str
) -> None:
    pages.ledger.add(page=page_of(title=f"First {MENTIONS}", tags="parser"), submitted=[SOLVERS[0]])
    pages.ledger.add(page=page_of(title="Of another kind"))
    feed, where = f"{address}/feed.json?tag=parser", {"CHAT_ADDRESS": f"{receiver.server.url}/hook/T0"}
    receiver.refuses = True
    run(tmp_path, "to_chat", chat, feed, fails=True, variables=where)
    receiver.refuses = False
    run(tmp_path, "to_chat", chat, feed, variables=where)
    run(tmp_path, "to_chat", chat, feed, variables=where)
    pages.ledger.add(page=page_of(title="Second", tags="parser"))
    run(tmp_path, "to_chat", chat, feed, variables=where)
    first, second = receiver.got
    assert b"Second" in second.body
    if chat == "slack":
        text = str(first.json()["text"])
        assert text.startswith("<https://bounties.example/bounties/1|")
        assert text.count("<") == text.count(">") == 1
    elif chat == "discord":
        assert first.json()["allowed_mentions"] == {"parse": []}
        assert "\\[a\\]\\(https://evil.example\\)" in str(first.json()["content"])
    else:
        assert (first.headers["title"], first.headers["click"]) == (
            "New bounty", "https://bounties.example/bounties/1",
        )  # fmt: skip


@pytest.mark.parametrize("title", HOSTILE)
def test_chat__of_a_hostile_title__is_one_message(
    pages: Pages, address: str, receiver: Receiver, tmp_path: Path, title: str
) -> None:
    pages.ledger.add(page=page_of(title=title))
    for chat in ("slack", "discord", "ntfy"):
        (tmp_path / "seen.json").unlink(missing_ok=True)
        run(tmp_path, "to_chat", chat, f"{address}/feed.json", variables={"CHAT_ADDRESS": receiver.server.url})
    assert len(receiver.got) == 3


def test_mail__of_a_search__has_what_is_new_and_is_none_where_nothing_is(
    pages: Pages, address: str, tmp_path: Path
) -> None:
    pages.ledger.add(page=page_of(title="Ein Zerteiler für CSV"))
    feed = f"{address}/feed.json?search=zerteiler"
    mail = email.message_from_string(run(tmp_path, "to_mail", feed, "me@example.org"), policy=email.policy.default)
    assert (mail["To"], mail["Subject"]) == ("me@example.org", "Bounties: 1 new")
    text = mail.get_content()
    assert "Ein Zerteiler für CSV" in text
    assert "https://bounties.example/bounties/1" in text
    assert run(tmp_path, "to_mail", feed, "me@example.org") == ""


def test_issues__of_a_tag__are_opened_once_whoever_runs_it(
    pages: Pages, address: str, receiver: Receiver, tmp_path: Path
) -> None:
    for number in range(3):
        pages.ledger.add(page=page_of(title=f"Number {number} @octocat `x`", tags="parser, csv"))
    token = {"GITHUB_TOKEN": "made-here", "GITHUB_REPOSITORY": "owner/name", "GITHUB_API_URL": receiver.server.url}
    feed = f"{address}/feed.json?tag=parser"
    run(tmp_path, "to_issues", feed, variables=token)
    run(tmp_path, "to_issues", feed, variables=token)  # nothing was remembered here
    assert len(receiver.issues) == 3
    assert receiver.posted()[0].headers["authorization"] == "Bearer made-here"
    assert receiver.issues[0]["labels"] == ["bounty", "parser", "csv"]
    assert "@octocat" not in json.dumps(receiver.issues, ensure_ascii=False)


def test_workflow__of_github__runs_the_program_that_is_tried_and_may_do_no_more() -> None:
    workflow = yaml.safe_load((EXAMPLES / "bounties-to-issues.yml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read", "issues": "write"}
    checkout, step = workflow["jobs"]["open"]["steps"]
    assert step["run"] == 'python3 bounties/to_issues.py "$FEED"'
    assert checkout["with"]["persist-credentials"] is False
