"""Sealed work that the storage lost, put back on its bounty's page: exactly the recorded bytes, by its Solver."""

import json
import shutil
import tarfile
from pathlib import Path

import pytest
from bounty_protocol.domain.envelope import Envelope, parse_envelope
from demo.bounty import Cast, Funded

from tests.e2e.wallet_acts import GO_ON, SEND, SIGN, path_of
from tests.e2e.wallet_pages import closed, no_blocks, opened, send_in_its_place, wallet_of
from tests.web.driver import Browser, Page

DIRECTORY = "Directory with the kept copy"
LONG = 3_600
SOLVER = "solver-1"


@pytest.fixture(scope="module")
def bounty(cast: Cast) -> Funded:
    funded = cast.fund(submission_seconds=LONG, judging_seconds=LONG, title="Lost and found")
    cast.submit(funded, SOLVER)
    return funded


@pytest.fixture(scope="module")
def kept(cast: Cast, bounty: Funded) -> Path:
    """A directory of ``service-cli keep``."""
    solver = cast.person(SOLVER)
    solver.run("keep", bounty.bounty_id, "kept")
    return solver.home / "kept"


def envelope_of(kept: Path) -> tuple[Path, Envelope]:
    (path,) = kept.glob("submissions/*/envelope.json")
    return path, parse_envelope(path.read_bytes())


def facts_of(cast: Cast, locator: str) -> list[Path]:
    """Where the storage has an object of this name; without it, it has none."""
    folder = cast.stack.gcs.credentials_file.parent / "objects/facts"
    return [path for path in folder.iterdir() if json.loads(path.read_text(encoding="utf-8"))["name"] == locator]


def lost_page(cast: Cast, browser: Browser, bounty: Funded, who: str, envelope: Envelope) -> Page:
    """The bounty's page, which states that the work is lost, as it does after the api's next inspection."""
    page = browser.open(f"{cast.stack.pages_url}{path_of(bounty)}", wallet_of(cast, who), fresh=True)
    lost = {"solver_address": envelope.solver_address, "submission_commitment": envelope.commitment()}
    page.do("state", changes={"lost": [lost]})
    page.connect()
    page.press("Choose the kept copy")
    page.wait(DIRECTORY)
    return page


def copy_of(kept: Path, folder: Path) -> Path:
    """The envelope and the ciphertext alone."""
    path, _ = envelope_of(kept)
    return Path(shutil.copytree(path.parent, folder))


def test_lost_work__is_put_back_by_its_solver_from_exactly_the_recorded_bytes(
    cast: Cast, browser: Browser, bounty: Funded, kept: Path, tmp_path: Path
) -> None:
    _, envelope = envelope_of(kept)
    locator = envelope.ciphertext.storage_locator
    (stored,) = facts_of(cast, locator)
    stored.unlink()
    page = lost_page(cast, browser, bounty, SOLVER, envelope)

    other = copy_of(kept, tmp_path / "other")
    sealed = bytearray((other / "ciphertext.age").read_bytes())
    sealed[-1] ^= 1
    (other / "ciphertext.age").write_bytes(sealed)
    short = copy_of(kept, tmp_path / "short")
    (short / "ciphertext.age").write_bytes(bytes(sealed[:-1]))
    foreign = copy_of(kept, tmp_path / "foreign")
    (foreign / "envelope.json").write_bytes((foreign / "envelope.json").read_bytes() + b"\n")
    for wrong, why in (
        (other, "has its length, and other bytes"),
        (short, f"none of the files beside its envelope has its {len(sealed):,} bytes"),
        (foreign, "None of these files is the envelope of the recorded Submission"),
    ):
        page.tree(DIRECTORY, wrong)
        page.press("Check it")
        page.wait_alert(why)
        page.press("Not now")
        page.press("Choose the kept copy")
        page.wait(DIRECTORY)
    assert page.asked() == []

    page.tree(DIRECTORY, kept)
    page.press("Check it")
    page.check()
    page.press(SIGN)
    page.wait("they are uploaded")
    assert [each["method"] for each in page.asked()] == ["eth_signTypedData_v4"]
    (again,) = facts_of(cast, locator)
    assert json.loads(again.read_text(encoding="utf-8"))["size"] == len(sealed)
    closed(page)

    page = lost_page(cast, browser, bounty, SOLVER, envelope)  # once more: nothing is left to do
    page.tree(DIRECTORY, kept)
    page.press("Check it")
    page.press(SIGN)
    page.wait("the storage holds them already")
    page.close()


def prepared_on_the_page(cast: Cast, browser: Browser, bounty: Funded, who: str, work: Path) -> Page:
    """It only needs to be recorded."""
    page = opened(cast, browser, who, path_of(bounty))
    page.press("Choose the work")
    page.tree("Directory with the work", work)
    page.press(GO_ON)
    page.press("Seal it")
    page.wait("Get an address for the upload")
    page.press(SIGN)
    page.wait("Record the Submission on the chain")
    return page


def uploaded_on_the_page(cast: Cast, browser: Browser, bounty: Funded, who: str, work: Path) -> tuple[Page, Path]:
    """The same, and the file that the storage has of it since."""
    objects = cast.stack.gcs.credentials_file.parent / "objects/facts"
    before = set(objects.iterdir())
    page = prepared_on_the_page(cast, browser, bounty, who, work)
    (uploaded,) = set(objects.iterdir()) - before
    return page, uploaded


def test_work__that_the_storage_loses_before_it_is_recorded__is_uploaded_again(
    cast: Cast, browser: Browser, bounty: Funded, tmp_path: Path
) -> None:
    """It was recorded as it was, and nobody could have opened it."""
    (tmp_path / "answer.txt").write_text("Lost between two visits.\n", encoding="utf-8")
    page, uploaded = uploaded_on_the_page(cast, browser, bounty, "solver-3", tmp_path)
    page.press("Not now")
    uploaded.unlink()
    page.press("Choose the work")
    page.wait("uploaded and checked")
    page.press("Go on with it")
    for request in ("Have the upload checked", "Get an address for the upload"):
        page.wait(request)
        page.press(SIGN)
    page.wait("Record the Submission on the chain")
    assert uploaded.exists()
    page.press(SEND)
    page.wait("is recorded, by transaction")
    closed(page)


def test_work__that_the_storage_loses_while_it_is_sent__is_uploaded_before_it_is_sent_anew(
    cast: Cast, browser: Browser, bounty: Funded, tmp_path: Path
) -> None:
    """What was cancelled in the wallet was sent again without a word to the service."""
    (tmp_path / "answer.txt").write_text("Lost while it waited.\n", encoding="utf-8")
    page, uploaded = uploaded_on_the_page(cast, browser, bounty, "solver-3", tmp_path)
    with no_blocks(cast):
        page.press(SEND)
        page.wait("Sent as")
        page.wait_read("eth_getTransactionCount")
        uploaded.unlink()
        send_in_its_place(cast, wallet_of(cast, "solver-3"), cast.address("solver-3"), "0x")
    for request in ("Have the upload checked", "Get an address for the upload"):
        page.wait(request)
        page.press(SIGN)
    page.wait("Another transaction of this account took the place of the one that was sent")
    assert uploaded.exists()
    page.press(SEND)
    page.wait("is recorded, by transaction")
    closed(page)


def submitted_on_the_page(cast: Cast, browser: Browser, bounty: Funded, who: str, work: Path) -> Page:
    page = prepared_on_the_page(cast, browser, bounty, who, work)
    page.press(SEND)
    page.wait("is recorded, by transaction")
    return page


def test_work__submitted_on_the_page__is_put_back_from_the_copy_that_the_page_saves(
    cast: Cast, browser: Browser, bounty: Funded, tmp_path: Path
) -> None:
    (work := tmp_path / "work").mkdir()
    (work / "answer.txt").write_bytes(b"forty-two\n" * 5_000)
    page = submitted_on_the_page(cast, browser, bounty, "solver-2", work)
    page.check()
    (saved := tmp_path / "saved.tar").write_bytes(page.saved("Save the sealed copy"))
    closed(page)

    with tarfile.open(saved) as archive:
        (folder,) = {name.partition("/")[0] for name in archive.getnames()}
        assert archive.getnames() == [f"{folder}/envelope.json", f"{folder}/ciphertext.age"]
        for name in archive.getnames():
            content = archive.extractfile(name)
            assert content is not None
            (tmp_path / name.partition("/")[2]).write_bytes(content.read())
    envelope = parse_envelope((tmp_path / "envelope.json").read_bytes())
    assert folder == f"submission-{bounty.bounty_id}-{envelope.commitment()[2:10]}"
    assert b"forty-two" not in saved.read_bytes()
    locator = envelope.ciphertext.storage_locator
    (stored,) = facts_of(cast, locator)
    stored.unlink()

    altered = bytearray(saved.read_bytes())
    altered[-2_000] ^= 1
    (tmp_path / "altered.tar").write_bytes(altered)
    (tmp_path / "short.tar").write_bytes(saved.read_bytes()[:3_000])
    page = lost_page(cast, browser, bounty, "solver-2", envelope)
    for name, why in (
        ("altered", "has its length, and other bytes"),
        ("short", "none of the files beside its envelope"),
    ):
        page.upload("Or files", tmp_path / f"{name}.tar")
        page.press("Check it")
        page.wait_alert(why)
    page.upload("Or files", saved)
    page.press("Check it")
    page.press(SIGN)
    page.wait("they are uploaded")
    closed(page)
    (again,) = facts_of(cast, locator)
    again.unlink()
    cast.person("solver-2").run("solver:submit", "--put-back", bounty.bounty_id, str(saved))
    (stored,) = facts_of(cast, locator)
    assert json.loads(stored.read_text(encoding="utf-8"))["size"] == envelope.ciphertext.byte_length


@pytest.mark.attack
def test_copy__of_somebody_else_s_lost_work__is_checked_and_sent_nowhere(
    cast: Cast, browser: Browser, bounty: Funded, kept: Path
) -> None:
    _, envelope = envelope_of(kept)
    page = lost_page(cast, browser, bounty, "solver-3", envelope)
    page.requests()
    page.tree(DIRECTORY, kept)
    page.press("Check it")
    page.wait("exactly.")
    assert page.asked() == []
    assert not [each for each in page.requests() if not each.startswith("GET ") and "artifact-upload-url" in each]
    page.close()
