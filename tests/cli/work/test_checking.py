"""``poster:check``: the service's rules on this machine, each finding with its line; and the Hub's bounds."""

import pytest
from demo.examples import EXAMPLES

from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal

EXAMPLE = (EXAMPLES / "bounty_challenge.md").read_text(encoding="utf-8")


def number_of(text: str, page: str) -> int:
    """The line of a page that begins with a text."""
    return next(number for number, line in enumerate(page.splitlines(), 1) if line.lstrip().startswith(text))


@pytest.mark.parametrize(
    ("old", "new", "field", "where"),
    [
        ("escrow_amount: ", "escrow_amount: 0", "escrow_amount", "escrow_amount"),
        ("title: ", "titel: x\ntitle: ", "titel", "titel"),
        ("language: ", "lang: ", "lang", "lang:"),
        (
            "acceptance_criteria:",
            'acceptance_criteria:\n  - "The site is TBD."',
            "acceptance_criteria[0]",
            '- "The site',
        ),
        ("title: ", "title: <what should be made, in one line>\n#", "template", "title"),
    ],
)
def test_page_with_one_fault_names_its_line(shell: Terminal, old: str, new: str, field: str, where: str) -> None:
    page = EXAMPLE.replace(old, new, 1)
    (shell.home / "page.md").write_text(page)
    ran = shell.run("poster:check", "--offline", "page.md", code=1)
    found = [event for event in ran.events if event.get("field") == field]
    assert found[0]["line"] == number_of(where, page)
    assert (ran.names[-2:], ran.last["code"]) == (["poster_check.finished", "poster_check.refused"], "page_not_ready")


@pytest.mark.parametrize(("page", "template"), [(f"\ufeff{EXAMPLE}", False), ("# Pay me\n", True)])
def test_page_of_another_form_gets_a_template(shell: Terminal, page: str, template: bool) -> None:
    (shell.home / "page.md").write_text(page)
    ran = shell.run("poster:check", "--offline", "page.md", code=1)
    _, proposed, name = str(ran.last["next_action"]).rstrip(".").partition("service-cli poster:new ")
    assert bool(proposed) == template
    if template:
        shell.run("poster:new", name)


def test_ready_page_uses_no_network(shell: Terminal) -> None:
    (shell.home / "page.md").write_text(EXAMPLE)
    ran = shell.run("poster:check", "page.md")
    assert ran.names == ["poster_check.finished"]
    assert (ran.last["issues"], ran.last["hub_checked"]) == (0, False)


def test_terms_are_checked_against_the_hub(poster: Terminal, rpc: RpcProxy) -> None:
    page = EXAMPLE.replace("judging_window_seconds: ", "judging_window_seconds: 1 #")
    (poster.home / "page.md").write_text(page)
    ran = poster.run("poster:check", "page.md", code=1)
    fields = {event.get("field") for event in ran.events}
    assert "judging_window_seconds" in fields
    assert ran.event("poster_check.finished")["hub_checked"] is True
    called = len(rpc.calls)
    poster.run_any("poster:check", "--offline", "page.md")
    assert len(rpc.calls) == called


def test_page_with_a_key_is_no_success(poster: Terminal, rpc: RpcProxy) -> None:
    key = next(value for name, value in poster.environment.items() if name == "SERVICE_POSTER_PRIVATE_KEY")
    ran = poster.run("poster:check", "-", stdin=f"{EXAMPLE}\n{key}\n".encode(), code=1)
    assert ran.last["code"] == "secret_in_document"
    assert key not in ran.stdout + ran.words
    rpc.before = lambda _method, _params: {"error": {"code": -32005, "message": "too many requests"}}
    assert poster.run("poster:check", "-", stdin=EXAMPLE.encode(), code=1).last["code"] == "chain_unavailable"
