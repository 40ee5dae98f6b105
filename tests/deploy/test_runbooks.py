"""Each alert's runbook: one screen, four parts, a first command that is there, and no command or name that is not."""

import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from itertools import pairwise

import pytest
from bounty_protocol.errors import PROBLEMS
from local_stack.services import SERVICES
from service_checker.__main__ import main as watchtower

from tools.absence.__main__ import COSTS, FOLLOWING_BLOCKS, Absence, with_rows
from tools.generate.metrics import families
from tools.runbooks.__main__ import Timed, with_table
from tools.runbooks.faults import FAULTS
from tools.runbooks.scene import ExpectedAlert
from tools.runbooks.watching import Watching

from .conftest import REPOSITORY
from .manifests import OVERLAYS
from .test_watching import alert_rules

PAGE = (REPOSITORY / "docs/operations.md").read_text(encoding="utf-8")
PARTS = ("What people notice.", "Look.", "Do.", "Verify.")
MOST_LINES = 45
"""One screen of a terminal at night, blank lines left out."""
WORKLOADS = {"deployment": "Deployment", "statefulset": "StatefulSet", "cronjob": "CronJob", "job": "Job"}
PROGRAMS = {"service-api", "service-indexer", "service-delivery", "service-reviewer", "service-web"}
TOOLS = {
    "ask", "kubectl", "grep", "curl", "openssl", "base64", "export", "rq", "python", "service-cli",
    "service-audit", "./noxw", "df", "systemctl",
}  # fmt: skip
"""What a command line may begin with: the function above the runbooks, and programs that an operator has."""


def runbooks() -> dict[str, str]:
    """The section of each alert, by the alert's name."""
    sections = {
        re.sub(r"[^a-z0-9 -]", "", heading.lower()).strip().replace(" ", "-"): text
        for heading, text in re.findall(r"(?ms)^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGE)
    }
    rules = alert_rules("mainnet")
    return {rule["alert"]: sections[rule["annotations"]["runbook_url"].partition("#")[2]] for rule in rules}


RUNBOOKS = runbooks()
METRICS = {name + end for name, family in families().items() for end in (*family.ends, "")}
SETTINGS = (REPOSITORY / "docs/configuration.md").read_text(encoding="utf-8")


def screen(section: str) -> str:
    """The runbook itself, without what is told below it under a heading of its own."""
    return section.partition("\n### ")[0]


def commands(section: str) -> Iterator[list[str]]:
    """The words of each command, those behind a pipe as commands of their own."""
    for block in re.findall(r"(?ms)^ *```sh\n(.*?)^ *```", section):
        text = re.sub(r"python -c '.*?'", "python", block, flags=re.DOTALL)
        for line in filter(None, (line.partition("    #")[0].strip() for line in text.splitlines())):
            words = shlex.split(line)
            while "|" in words:
                yield words[: words.index("|")]
                words = words[words.index("|") + 1 :]
            yield [word for word in words if word != "&"]


def watchtower_help() -> str:
    """What ``service-audit --watch --help`` prints."""
    printed = io.StringIO()
    with redirect_stdout(printed), pytest.raises(SystemExit):
        watchtower(["--help"])
    return printed.getvalue()


@pytest.mark.parametrize("alert", RUNBOOKS)
def test_runbook__of_an_alert__has_its_four_parts_on_one_screen(alert: str) -> None:
    text = screen(RUNBOOKS[alert])
    assert re.findall(r"(?m)^\[?\*\*([A-Z][^*]*\.)\*\*", text) == list(PARTS)
    assert len([line for line in text.splitlines() if line.strip()]) <= MOST_LINES
    look = text.partition("**Look.**")[2].partition("**Do.**")[0]
    assert list(commands(look)), "its first command tells this cause from the others"


@pytest.mark.parametrize("alert", RUNBOOKS)
def test_runbook__of_an_alert__has_only_commands_that_exist(alert: str) -> None:
    names = {(kind, name) for kind, name in workloads()}
    for words in commands(screen(RUNBOOKS[alert])):
        assert words[0] in TOOLS, words
        if words[0] == "ask":
            assert ("Deployment", words[1]) in names, words
            assert words[2] in {"/metrics", "/readyz"}
        for word in words:
            kind, slash, name = word.removeprefix("--from=").partition("/")
            if slash and kind in WORKLOADS and "-again" not in name and "-now" not in name:
                assert (WORKLOADS[kind], name.partition(":")[0]) in names, words
        for program, command in pairwise(words):
            if program in PROGRAMS:
                assert f'"{command}": ' in entry_point(program), words
        if words[:2] == ["service-audit", "--watch"]:
            options = {word for word in words if word.startswith("--")}
            assert options <= set(re.findall(r"--[a-z-]+", watchtower_help())), words
        if words[:2] == ["./noxw", "-s"]:
            assert f"def {words[2]}(session" in (REPOSITORY / "noxfile.py").read_text(encoding="utf-8"), words
        if words[:3] == ["kubectl", "rollout", "restart"] or words[:3] == ["kubectl", "scale", "deployment"]:
            named = [word for word in words[3:] if not word.startswith("-") and word != "deployment"]
            assert {("Deployment", each.removeprefix("deployment/")) for each in named} <= names, words


@pytest.mark.parametrize("alert", RUNBOOKS)
def test_runbook__of_an_alert__names_only_metrics_codes_and_settings_that_exist(alert: str) -> None:
    for name in re.findall(r"\bservice_[a-z_]+", RUNBOOKS[alert]):
        assert name in PROBLEMS or any(each.startswith(name) for each in METRICS), name
    for name in re.findall(r"\bSERVICE_[A-Z_]+", RUNBOOKS[alert]):
        assert name.removesuffix("_FILE") in SETTINGS, name


def test_commands__of_a_runbook_that_names_something_else__are_found() -> None:
    """The neighbour that is refused: the checks above look at words that would be wrong."""
    found = list(commands("```sh\nask nobody /metrics | grep x\nkubectl rollout restart deployment none &\n```\n"))
    assert found == [
        ["ask", "nobody", "/metrics"],
        ["grep", "x"],
        ["kubectl", "rollout", "restart", "deployment", "none"],
    ]
    assert ("Deployment", "nobody") not in set(workloads())


def workloads() -> Iterator[tuple[str, str]]:
    """Everything that runs in any overlay."""
    for objects in OVERLAYS.values():
        yield from ((each["kind"], each["metadata"]["name"]) for each in objects if each["kind"] in WORKLOADS.values())


def entry_point(program: str) -> str:
    """The source that lists a program's commands."""
    name = program.removeprefix("service-")
    return (REPOSITORY / f"services/{name}/src/service_{name}/main.py").read_text(encoding="utf-8")


def test_table__of_timed_runbooks__names_every_alert_as_caused_or_not() -> None:
    caused, left = timed_rows(PAGE)
    assert sorted({alert for alert, _ in caused} | set(left)) == sorted(RUNBOOKS)
    assert not {alert for alert, _ in caused} & set(left)
    assert {(each.alert, fault.words) for fault in FAULTS for each in fault.alerts} >= set(caused)
    assert "**never**" not in PAGE


HEALTHY = """
service_rpc_endpoint_failures{endpoint="1"} 0.0
service_rpc_endpoint_contradictions{endpoint="1"} 0.0
service_hub_missing{endpoint="1"} 0.0
service_web_api_answers_total{outcome="failed"} 0.0
service_signature_refusals_total{reason="malformed"} 0.0
service_reviews_total{outcome="provider_error"} 0.0
service_jobs{queue="reviews",state="waiting"} 0.0
service_settler_affordable 4711.0
service_certificate_seconds 7.775998e+06
service_certificate_seconds 7775998.0
service_replica_lag_seconds 0.0
service_http_requests_shed_total 0.0
service_pending_ratio{kind="pages"} 0.01
service_ciphertexts_total{result="differs"} 0.0
     Active: active (running)
x-index-block: 4711
  ok     archive     eth_getProof at all 120 blocks; eth_call at all 120 blocks
http://endpoint/
{"status": "ready", "failing": []}
"""
"""What the first commands print of a deployment that nothing is wrong with."""


@pytest.mark.parametrize("expected", [each for fault in FAULTS for each in fault.alerts])
def test_cause__that_the_first_commands_show__is_not_shown_without_it(expected: ExpectedAlert) -> None:
    assert re.search(expected.prints, HEALTHY) is None
    assert ">= 0" not in expected.over


class Held(Watching):
    """Of which every expression holds."""

    def holds(self, expression: str, ahead: float = 0.0) -> bool:
        return expression != "over"


def test_runbook__followed_while_its_alert_still_held_from_before__is_a_fault_of_the_run() -> None:
    watching, timed = Held(0), Timed("A", "a fault", 0.0, 1.0, True, 2.0, 3, 0)
    assert [watching.wait_until_over(each, 0.0) for each in ("over", "held")] == [True, False]
    assert list(timed.faults()) == []
    assert list(replace(timed, held_before=True).faults()) == ["it still held from before"]


def test_alert__asked_ahead__counts_only_where_nothing_comes_any_more() -> None:
    """What is still scraped has no value of an hour later either."""
    watching = Held(0)
    assert watching.wait("held", 0.1, ahead=3_600.0, gone="over") is None
    assert watching.wait("held", 0.1, ahead=3_600.0, gone="absent") is not None


def timed_rows(page: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Alerts with their faults, and alerts that nothing caused."""
    part = page.partition("<!-- generated: runbooks -->")[2].partition("<!-- end -->")[0]
    rows, _, rest = part.partition("Not caused here:")
    return re.findall(r"(?m)^\| \[`(\w+)`\]\S+ \| ([^|]+) \|", rows), re.findall(r"`(\w+)`", rest)


def test_table__after_some_runbooks_were_followed_again__has_their_new_rows_and_the_others() -> None:
    alerts, before = dict.fromkeys(RUNBOOKS, "docs/operations.md#its-runbook"), timed_rows(PAGE)[0]
    alert, words = before[0]
    page = with_table(PAGE, [Timed(alert, words, 1_234.0, 1.0, True, 2.0, 3, 0)], alerts)
    assert timed_rows(page)[0] == before
    assert f"| [`{alert}`](#its-runbook) | {words} | 1234 s | 1 s | 2 s | 3 (0) |" in page
    assert (
        timed_rows(with_table(PAGE, [Timed(alert, "no fault of the list", 1.0, 1.0, True, 2.0, 3, 0)], alerts))[0]
        == before
    )


def test_table__of_absences__has_each_process_with_what_its_absence_costs() -> None:
    part = PAGE.partition("<!-- generated: absence -->")[2].partition("<!-- end -->")[0]
    names = [service.name for service in SERVICES]
    rows = re.findall(r"(?m)^\| `([\w-]+)` \|", part)
    assert rows == names
    assert list(COSTS) == names
    again = with_rows(PAGE, [measured()])
    assert [row in again for row in part.splitlines() if "`settler`" not in row].count(False) == 0, "other rows stay"


def measured(**changed: object) -> Absence:
    whole = Absence("settler", 600, "nothing", 2, 4, 4, 1, 20.0)
    return replace(whole, **changed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("absence", "faults"),
    [
        (measured(), 0),
        (measured(ended=3), 1),
        (measured(returned=None), 1),
        (measured(furthest=FOLLOWING_BLOCKS), 0),
        (measured(furthest=FOLLOWING_BLOCKS + 1), 1),
        (measured(process="indexer-worker", furthest=600), 0),
    ],
)
def test_absence__that_cost_a_bounty_the_index_or_did_not_end__is_a_fault(absence: Absence, faults: int) -> None:
    assert len(absence.faults()) == faults
