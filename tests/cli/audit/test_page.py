"""``--html``: one page, complete in itself, in which nothing that somebody wrote is markup."""

from html.parser import HTMLParser

from service_cli.audit.history import BountyHistory
from service_cli.audit.page import page
from service_cli.audit.report import Difference, Report

from tests.cli.api_twin import ApiTwin
from tests.cli.audited import Audited
from tests.cli.servers import as_json
from tests.cli.terminal import Terminal

HOSTILE = "<script>alert(1)</script><img src=https://a.example/x onerror=x>\"'&\u202e\x1b[31m"


class Parsed(HTMLParser):
    """Every element and attribute, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_page__of_an_audit__is_complete_and_asks_nobody(auditor: Terminal, audited: Audited) -> None:
    ran = auditor.audit(audited.awarded, "--html", "report.html")
    assert ran.event("service_audit.page_written")["path"] == "report.html"
    assert ran.last["event"] == "service_audit.finished"
    found = Parsed((auditor.home / "report.html").read_text())
    assert not {"script", "link", "img", "iframe", "object", "form", "base"} & set(found.tags)
    assert not {"src", "href", "style", "onclick"} & {name for name, _ in found.attributes}
    assert any(value is not None and value.startswith("default-src 'none'") for _, value in found.attributes)
    assert f"Bounty {audited.awarded} was awarded to {audited.solver}" in found.text
    assert "prefers-color-scheme: dark" in (auditor.home / "report.html").read_text()
    before = (auditor.home / "report.html").read_bytes()
    assert auditor.audit(audited.awarded, "--html", "report.html", code=1).last["code"] == "bundle_exists"
    assert (auditor.home / "report.html").read_bytes() == before


def test_page__of_an_audit_that_differs__is_written_and_names_the_place(
    auditor: Terminal, api: ApiTwin, audited: Audited
) -> None:
    api.scripts["detail"] = lambda _: as_json({"bounty_id": HOSTILE})
    ran = auditor.audit(audited.awarded, "--html", "report.html", code=1)
    assert ran.last["code"] == "audit_differs"
    found = Parsed((auditor.home / "report.html").read_text())
    assert "What differs from the chain" in found.text
    assert "script" not in found.tags


def test_page__with_what_the_audited_side_wrote__escapes_all_of_it(
    audited: Audited, histories: dict[str, BountyHistory]
) -> None:
    report, clean = Report(), Report()
    report.judge(f"bounty.{HOSTILE}", [Difference(HOSTILE, HOSTILE, HOSTILE)], HOSTILE, HOSTILE)
    report.holds(HOSTILE, HOSTILE)
    report.not_checked(HOSTILE, HOSTILE)
    clean.judge("bounty.x", [Difference("x", "x", "x")], "x", "x")
    clean.holds("x", "x")
    clean.not_checked("x", "x")
    history = histories[audited.awarded]
    text = page(history, report, str)
    assert Parsed(text).tags == Parsed(page(history, clean, str)).tags
    assert "<script>alert(1)</script>" in Parsed(text).text
    assert "\u202e" not in text
    assert "\x1b" not in text
