"""Sealed work on a bounty's page: uploaded again before it is recorded, and saved as a copy."""

import tarfile
from pathlib import Path

import pytest
from bounty_protocol.domain.envelope.document import parse_envelope
from demo.bounty import Cast, Funded

from tests.e2e.wallet_acts import SEND, SIGN, path_of
from tests.e2e.wallet_pages import closed, no_blocks, opened, send_in_its_place, wallet_of
from tests.pages.driver import Browser, Page

pytestmark = pytest.mark.nightly

LONG = 3_600
SOLVER = "solver-1"


@pytest.fixture(scope="module")
def bounty(cast: Cast) -> Funded:
    funded = cast.fund(submission_seconds=LONG, judging_seconds=LONG, title="Lost and found")
    cast.submit(funded, SOLVER)
    return funded


def prepared_on_the_page(cast: Cast, browser: Browser, bounty: Funded, who: str, work: Path) -> Page:
    """It only needs to be recorded."""
    page = opened(cast, browser, who, path_of(bounty))
    page.begin("Submit work")
    page.tree("Directory with the work", work)
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


def test_lost_work_is_uploaded_before_it_is_recorded(
    cast: Cast, browser: Browser, bounty: Funded, tmp_path: Path
) -> None:
    """It was recorded as it was, and nobody could have opened it."""
    (tmp_path / "answer.txt").write_text("Lost between two visits.\n", encoding="utf-8")
    page, uploaded = uploaded_on_the_page(cast, browser, bounty, "solver-3", tmp_path)
    page.press("Not now")
    uploaded.unlink()
    page.begin("Submit work")
    page.wait("uploaded and checked")
    page.press("Continue with it")
    for request in ("Have the upload checked", "Get an address for the upload"):
        page.wait(request)
        page.press(SIGN)
    page.wait("Record the Submission on the chain")
    assert uploaded.exists()
    page.press(SEND)
    page.wait("Your Submission is recorded.")
    closed(page)


def test_work_lost_while_sent_is_uploaded_anew(cast: Cast, browser: Browser, bounty: Funded, tmp_path: Path) -> None:
    """What was cancelled in the wallet was sent again without a word to the service."""
    (tmp_path / "answer.txt").write_text("Lost while it waited.\n", encoding="utf-8")
    page, uploaded = uploaded_on_the_page(cast, browser, bounty, "solver-3", tmp_path)
    with no_blocks(cast):
        page.press(SEND)
        page.wait("Sent as")
        uploaded.unlink()
        send_in_its_place(cast, wallet_of(cast, "solver-3"), cast.address("solver-3"), "0x")
    page.press("Send it again")
    for request in ("Have the upload checked", "Get an address for the upload"):
        page.wait(request)
        page.press(SIGN)
    page.wait("An earlier attempt was begun here and is not on the chain.")
    assert uploaded.exists()
    page.press(SEND)
    page.wait("Your Submission is recorded.")
    closed(page)


def submitted_on_the_page(cast: Cast, browser: Browser, bounty: Funded, who: str, work: Path) -> Page:
    page = prepared_on_the_page(cast, browser, bounty, who, work)
    page.press(SEND)
    page.wait("Your Submission is recorded.")
    return page


def test_submitted_work_can_be_saved_sealed(cast: Cast, browser: Browser, bounty: Funded, tmp_path: Path) -> None:
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
    assert len((tmp_path / "ciphertext.age").read_bytes()) == envelope.ciphertext.byte_length
    assert b"forty-two" not in saved.read_bytes()
