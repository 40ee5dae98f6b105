"""``keep``: only what the chain vouches for gets a name, and with it alone a bounty goes on without its service."""

import json
import os
import shutil
from pathlib import Path

import pytest
from bounty_protocol.domain.commitments import report_commitment

from tests.cli.api_twin import ApiTwin, refusal
from tests.cli.audited import Audited
from tests.cli.conftest import person
from tests.cli.kill import spawn
from tests.cli.ledger import Ledger
from tests.cli.lies import lie_at
from tests.cli.servers import Reply, Request, RpcProxy
from tests.cli.submitted import Submitted, files_below, load, submit
from tests.cli.terminal import Ran, Terminal


@pytest.fixture(scope="module")
def sealed(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> tuple[Submitted, Path]:
    """A bounty past its reveal point, and where its Solver worked."""
    folder = tmp_path_factory.mktemp("sealed")
    return submit(ledger, folder), folder


@pytest.fixture
def served(api: ApiTwin, sealed: tuple[Submitted, Path]) -> Submitted:
    load(api, sealed[0])
    api.keep_page(sealed[0].page)
    return sealed[0]


def names(directory: Path) -> set[str]:
    return set(files_below(directory))


def issues(ran: Ran) -> dict[str, str]:
    found = ran.last["issues"]
    assert isinstance(found, list)
    return {each["path"]: each["message"] for each in found}


def test_guardian__of_an_open_bounty__keeps_page_and_sealed_work_once(guardian: Terminal, served: Submitted) -> None:
    ran = guardian.run("keep", served.bounty, "kept", "--sign-as", "guardian")
    below = f"submissions/1-{served.commitment[:8]}"
    wanted = {"challenge.md", f"{below}/envelope.json", f"{below}/ciphertext.age"}
    assert {event["path"] for event in ran.events[:-1]} == wanted
    assert ran.last == {
        "event": "keep.done", "bounty_id": served.bounty, "directory": "kept",
        "kept": 3, "before": 0, "missing": 0, "is_final": False,
    }  # fmt: skip
    files = files_below(guardian.home / "kept")
    assert set(files) == {*wanted, "README.md"}
    assert files["challenge.md"] == served.page
    assert files[f"{below}/ciphertext.age"] in served.objects.values()
    again = guardian.run("keep", served.bounty, "kept", "--sign-as", "guardian")
    assert (again.last["kept"], again.last["before"]) == (0, 3)


def test_stranger__without_a_key__keeps_what_is_public_and_is_shown_what_is_not(
    guardian: Terminal, served: Submitted
) -> None:
    ran = guardian.run("keep", served.bounty, "kept")
    assert names(guardian.home / "kept") == {"challenge.md", "README.md"}
    assert "--sign-as" in ran.words


def test_key__of_somebody_else__is_refused_before_anything_is_written(solver: Terminal, served: Submitted) -> None:
    key = solver.environment["SERVICE_SOLVER_PRIVATE_KEY"]
    ran = solver.run("keep", served.bounty, "kept", "--sign-as", "poster", code=1, SERVICE_POSTER_PRIVATE_KEY=key)
    assert ran.last["code"] == "not_a_reader"
    assert not (solver.home / "kept").exists()


def test_solver__keeps_what_was_sealed_on_this_machine(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, served: Submitted, sealed: tuple[Submitted, Path], tmp_path: Path
) -> None:
    shutil.copytree(sealed[1] / "state", tmp_path / "state")
    api.objects.clear()
    person(ledger, api, rpc, tmp_path, "solver-1").run("keep", served.bounty, "kept")
    below = f"submissions/1-{served.commitment[:8]}"
    files = files_below(tmp_path / "kept")
    assert files[f"{below}/ciphertext.age"] in served.objects.values()
    assert f"{below}/envelope.json" in files


@pytest.mark.attack
def test_service__that_lies__has_nothing_of_it_kept(api: ApiTwin, guardian: Terminal, served: Submitted) -> None:
    below = f"submissions/1-{served.commitment[:8]}"
    ((locator, content),) = served.objects.items()
    api.objects[locator] = content[:-1] + bytes([content[-1] ^ 1])
    api.lies["detail"] = lie_at("challenge", value="# Another page\n")
    ran = guardian.run("keep", served.bounty, "kept", "--sign-as", "guardian", code=1)
    assert ran.last["code"] == "not_all_kept"
    assert set(issues(ran)) == {"challenge.md", f"{below}/ciphertext.age"}
    assert names(guardian.home / "kept") - {f"{below}/ciphertext.age.part"} == {f"{below}/envelope.json", "README.md"}
    api.objects[locator] = content
    api.lies.clear()
    assert guardian.run("keep", served.bounty, "kept", "--sign-as", "guardian").last["kept"] == 2
    assert not [name for name in names(guardian.home / "kept") if name.endswith(".part")]


@pytest.mark.attack
def test_own_work__that_another_sealing_replaced__is_not_kept_in_its_place(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, served: Submitted, sealed: tuple[Submitted, Path], tmp_path: Path
) -> None:
    shutil.copytree(sealed[1] / "state", tmp_path / "state")
    (kept,) = (tmp_path / "state").rglob("ciphertext.age")
    kept.write_bytes(b"of a newer sealing")
    ran = person(ledger, api, rpc, tmp_path, "solver-1").run("keep", served.bounty, "kept", code=1)
    assert set(issues(ran)) == {f"submissions/1-{served.commitment[:8]}/ciphertext.age"}
    assert names(tmp_path / "kept") == {"challenge.md", "README.md"}


@pytest.mark.attack
def test_service__that_lost_one_upload__has_the_other_files_kept(
    api: ApiTwin, guardian: Terminal, served: Submitted
) -> None:
    api.scripts["content"] = lambda _request: refusal(500, "solver_submission_content_invalid", "It is not there.")
    api.scripts["verdict_read"] = lambda _request: None
    ran = guardian.run("keep", served.bounty, "kept", "--sign-as", "guardian", code=1)
    assert [event["path"] for event in ran.events if event["event"] == "keep.missing"] == list(issues(ran))
    assert "does not answer" not in str(issues(ran))
    assert names(guardian.home / "kept") == {"challenge.md", "README.md"}


@pytest.mark.attack
def test_readme__of_somebody_else__stays_and_nothing_is_asked_for(
    api: ApiTwin, guardian: Terminal, served: Submitted
) -> None:
    (guardian.home / "README.md").write_text("# My project\n")
    ran = guardian.run("keep", served.bounty, ".", "--sign-as", "guardian", code=1)
    assert ran.last["code"] == "file_exists"
    assert (guardian.home / "README.md").read_text() == "# My project\n"
    assert api.approvals() == []


@pytest.mark.attack
def test_links_and_pipes__under_the_names_of_parts__are_not_followed(guardian: Terminal, served: Submitted) -> None:
    kept = guardian.home / "kept"
    below = kept / f"submissions/1-{served.commitment[:8]}"
    below.mkdir(parents=True)
    victim = guardian.home / "victim"
    victim.write_text("mine")
    (kept / "challenge.md.part").symlink_to(victim)
    os.mkfifo(below / "ciphertext.age.part")
    guardian.run("keep", served.bounty, "kept", "--sign-as", "guardian")
    assert victim.read_text() == "mine"
    assert (kept / "challenge.md").read_bytes() == served.page
    assert not (kept / "challenge.md").is_symlink()


@pytest.mark.attack
def test_second_run__beside_one_that_lasts__is_refused(api: ApiTwin, guardian: Terminal, served: Submitted) -> None:
    beside: list[object] = []

    def download(_request: Request) -> Reply | None:
        if not beside:
            process = spawn(guardian, "keep", served.bounty, "kept", "--sign-as", "guardian")
            words, _ = process.communicate(timeout=60)
            beside.append(words)
        return None

    api.scripts["download"] = download
    guardian.run("keep", served.bounty, "kept", "--sign-as", "guardian")
    assert "already_running" in str(beside[0])


def test_kept_work__named_in_full_or_under_another_number__is_found(
    api: ApiTwin, guardian: Terminal, served: Submitted
) -> None:
    guardian.run("keep", served.bounty, "kept", "--sign-as", "guardian")
    below = guardian.home / "kept" / "submissions"
    (below / f"1-{served.commitment[:8]}").rename(below / f"7-{served.commitment[:8]}")
    api.close()
    guardian.run("guardian:open", *served.names, "out", "--from", "kept")
    assert files_below(guardian.home / "out") == served.files
    ran = guardian.run("guardian:open", served.bounty, "--from", "kept", "--output", "all")
    assert ran.event("guardian_open.finished")["opened"] == 1


def test_opening__from_a_directory_that_lacks_one_ciphertext__ends_without_the_service(
    api: ApiTwin, guardian: Terminal, served: Submitted
) -> None:
    guardian.run("keep", served.bounty, "kept", "--sign-as", "guardian")
    (guardian.home / f"kept/submissions/1-{served.commitment[:8]}/ciphertext.age").unlink()
    api.close()
    ran = guardian.run("guardian:open", served.bounty, "--from", "kept", code=1)
    assert (ran.last["code"], ran.event("guardian_open.finished")["not_opened"]) == ("submissions_not_opened", 1)


@pytest.mark.attack
def test_evidence__that_would_lack_something__is_not_called_kept(
    api: ApiTwin, auditor: Terminal, audited: Audited
) -> None:
    api.scripts["verdict_read"] = lambda _request: refusal(404, "written_verdict_not_found", "There is none.")
    ran = auditor.run("keep", audited.awarded, "kept", code=1)
    assert "audit.zip" in issues(ran)
    assert "audit.zip" not in names(auditor.home / "kept")
    audited.serve(api)
    auditor.run("keep", audited.awarded, "kept")
    (auditor.home / "kept" / "audit.zip").write_bytes(b"")
    assert auditor.run("keep", audited.awarded, "kept", code=1).last["code"] == "file_exists"


@pytest.mark.attack
@pytest.mark.parametrize("name", ["challenge.md", "submissions/1-{}/ciphertext.age"])
def test_file__that_is_another__is_in_the_way_and_stays(guardian: Terminal, served: Submitted, name: str) -> None:
    path = guardian.home / "kept" / name.format(served.commitment[:8])
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    ran = guardian.run("keep", served.bounty, "kept", "--sign-as", "guardian", code=1)
    assert ran.last["code"] == "file_exists"
    assert path.read_text() == "mine"


def test_service__that_does_not_answer__is_asked_once_and_every_file_is_named(
    api: ApiTwin, guardian: Terminal, served: Submitted
) -> None:
    api.close()
    ran = guardian.run("keep", served.bounty, "kept", "--sign-as", "guardian", code=1)
    below = f"submissions/1-{served.commitment[:8]}"
    assert set(issues(ran)) == {"challenge.md", f"{below}/envelope.json", f"{below}/ciphertext.age"}
    assert names(guardian.home / "kept") == {"README.md"}


def test_final_bounty__is_kept_with_verdicts_record_and_evidence_that_holds_without_a_network(
    auditor: Terminal, audited: Audited
) -> None:
    ran = auditor.run("keep", audited.awarded, "kept")
    assert ran.last["is_final"]
    files = files_below(auditor.home / "kept")
    verdicts = {name: content for name, content in files.items() if name.startswith("verdicts/")}
    assert len(verdicts) == 2
    assert all(name == f"verdicts/{report_commitment(content)}.md" for name, content in verdicts.items())
    assert json.loads(files["record.json"])["bounty_id"] == audited.awarded
    audit = Terminal(auditor.home).audit("--from", "kept/audit.zip")
    assert audit.last["differs"] == 0
    again = auditor.run("keep", audited.awarded, "kept")
    assert (again.last["kept"], again.last["before"]) == (0, 5)


@pytest.mark.attack
def test_service_and_store__that_are_gone_after_the_reveal__leave_opening_judging_and_claiming(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path
) -> None:
    bounty, page = ledger.fund(seconds=3_000, judging=20 * 86_400)
    api.keep_page(page)
    solver = person(ledger, api, rpc, tmp_path / "solver", "solver-1")
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_bytes(b"print(1)\n")
    recorded = solver.run("solver:submit", str(bounty), "work").event("submit.submission_recorded")
    guardians = [person(ledger, api, rpc, tmp_path / f"guardian-{n}", f"guardian-{n}") for n in (1, 2)]
    for guardian in guardians:
        guardian.run("keep", str(bounty), "kept", "--sign-as", "guardian")
    ledger.reveal(bounty)
    api.close()

    documents = []
    for guardian in guardians:
        opened = guardian.run("guardian:open", str(bounty), "--from", "kept")
        assert opened.last["event"] == "guardian_open.finished"
        assert files_below(guardian.home / "submissions" / str(bounty)).popitem()[1] == b"print(1)\n"
        (guardian.home / "why.md").write_text("It meets each criterion.\n")
        arguments = ("guardian:verdict", str(bounty), "awarded", "--submission", "1", "why.md")
        judged = guardian.run(*arguments, "--unpublished", "verdict.md")
        anchored = judged.event("guardian_verdict.recorded")
        document = (guardian.home / "verdict.md").read_bytes()
        assert report_commitment(document) == anchored["report_commitment"]
        assert guardian.run(*arguments, "--unpublished", "verdict.md").last == anchored
        documents.append((guardian, arguments, document))
    ledger.node.mine(3)
    key = solver.environment["SERVICE_SOLVER_PRIVATE_KEY"]
    paid = solver.run("claim", str(bounty), SERVICE_CLAIMANT_PRIVATE_KEY=key).event("claim.claimed")
    assert paid["claimable_amount"]
    assert recorded["submission_commitment"]
    guardians[0].run("guardian:claim-fee", str(bounty))

    returned = ApiTwin(ledger)
    try:
        for guardian, arguments, document in documents:
            guardian.run(*arguments, SERVICE_API_BASE_URL=returned.url)
            guardian.run(*arguments, "--unpublished", "again.md")
            assert (guardian.home / "again.md").read_bytes() == document
            assert document in returned.verdicts.values()
    finally:
        returned.close()


def test_unpublished__where_another_file_is__signs_nothing(api: ApiTwin, guardian: Terminal, served: Submitted) -> None:
    (guardian.home / "verdict.md").write_text("mine")
    (guardian.home / "why.md").write_text("It meets each criterion.\n")
    arguments = ("guardian:verdict", *served.names[:1], "awarded", *served.names[1:], "--unopened", "why.md")
    ran = guardian.run(*arguments, "--unpublished", "verdict.md", code=1)
    assert ran.last["code"] == "file_exists"
    assert (guardian.home / "verdict.md").read_text() == "mine"
    assert api.approvals() == []


def test_download__that_broke_off__is_continued(api: ApiTwin, guardian: Terminal, served: Submitted) -> None:
    ((locator, content),) = served.objects.items()
    part = guardian.home / "kept" / f"submissions/1-{served.commitment[:8]}/ciphertext.age.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(content[:100])
    asked: list[str | None] = []

    def download(request: Request) -> Reply | None:
        asked.append(request.headers.get("range"))
        return None

    api.scripts["download"] = download
    guardian.run("keep", served.bounty, "kept", "--sign-as", "guardian")
    assert asked == ["bytes=100-"]
    assert part.with_suffix("").read_bytes() == content
    assert locator in api.objects
