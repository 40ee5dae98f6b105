"""Dumps on their way to the bucket and back: encrypted, copied once, never half, opened by their keys alone."""

import json
from pathlib import Path

import pyrage
import pytest
import service_api.main
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.x25519 import Identity, recipient_text
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import UnixSeconds
from service_api.backup.config import parse_recipients
from service_api.backup.dumps import KEPT, PREFIX, BackupFailed, check_age, fetch_dump, open_dump, store_dumps
from service_api.storage.gcs import GcsStore
from service_common.storage_settings import StorageSettings

Folders = tuple[Path, Path, Path]
OPERATOR, CLUSTER, OTHER = Identity.generate(), Identity.generate(), Identity.generate()
RECIPIENTS = (OPERATOR.public_key, CLUSTER.public_key)
CONTENT = b"a dump, and what people wrote in it " * 10_000


def names(day: int) -> tuple[str, str]:
    """A night's dump, plain and encrypted."""
    plain = f"202001{day:02}T021700Z.dump"
    return plain, f"{plain}.age"


def store(folders: Folders, bucket: GcsStore, *days: int) -> list[str]:
    """What the job reports after these nights' dumps were made."""
    made, kept, _ = folders
    for day in days:
        (made / names(day)[0]).write_bytes(CONTENT + bytes([day]))
    said: list[str] = []
    store_dumps(made, kept, RECIPIENTS, bucket, said.append)
    return said


def copied(bucket: GcsStore) -> list[str]:
    return [each.locator.removeprefix(PREFIX) for each in bucket.list(PREFIX)]


@pytest.mark.parametrize("identity", [OPERATOR, CLUSTER], ids=["operator", "cluster"])
def test_dump__stored_and_fetched__is_the_same_for_each_recipient(
    folders: Folders, bucket: GcsStore, identity: Identity
) -> None:
    made, kept, target = folders
    store(folders, bucket, 1, 2)
    assert list(made.iterdir()) == []
    assert sorted(each.name for each in kept.iterdir()) == copied(bucket) == [names(1)[1], names(2)[1]]
    assert all(b"what people wrote" not in each.read_bytes() for each in kept.iterdir())
    assert {each.stat().st_mode & 0o777 for each in kept.iterdir()} == {0o600}
    dump = fetch_dump(bucket, target, [OTHER, identity], lambda _: None)
    assert (dump.name, dump.read_bytes()) == (names(2)[0], CONTENT + b"\x02")
    assert fetch_dump(bucket, target, [identity], lambda _: None, name=names(1)[1]).read_bytes() == CONTENT + b"\x01"
    assert sorted(each.name for each in target.iterdir()) == [names(1)[0], names(2)[0]]


def test_dump__that_is_kept__opens_with_another_implementation_of_age(folders: Folders, bucket: GcsStore) -> None:
    store(folders, bucket, 1)
    key = pyrage.x25519.Identity.from_str(OPERATOR.to_text())
    assert pyrage.decrypt((folders[1] / names(1)[1]).read_bytes(), [key]) == CONTENT + b"\x01"


def test_dump__fetched_with_another_key__stays_closed_and_leaves_nothing_plain(
    folders: Folders, bucket: GcsStore
) -> None:
    store(folders, bucket, 1)
    with pytest.raises(SealedDataError) as refused:
        fetch_dump(bucket, folders[2], [OTHER], lambda _: None)
    assert refused.value.failure is Failure.AGE_NO_MATCHING_KEY
    assert not list(folders[2].glob("*.dump"))


@pytest.mark.parametrize("cut", [1, 70_000])
def test_dump__that_is_cut_or_altered__is_refused_and_never_under_its_name(
    folders: Folders, bucket: GcsStore, cut: int
) -> None:
    _, kept, target = folders
    store(folders, bucket, 1)
    sealed = kept / names(1)[1]
    whole = sealed.read_bytes()
    altered = whole[:-cut] + bytes([whole[-cut] ^ 1]) + whole[len(whole) - cut + 1 :]
    for wrong in (whole[:-cut], altered):
        sealed.write_bytes(wrong)
        with pytest.raises(SealedDataError):
            open_dump(sealed, target, [OPERATOR])
        assert list(target.iterdir()) == []
    sealed.write_bytes(whole)
    assert open_dump(sealed, target, [OPERATOR]).read_bytes() == CONTENT + b"\x01"


def test_job__run_again_after_a_kill__makes_up_for_what_is_missing(folders: Folders, bucket: GcsStore) -> None:
    made, kept, _ = folders
    store(folders, bucket, 1)
    before = (kept / names(1)[1]).read_bytes()
    (kept / f"{names(2)[1]}.part").write_bytes(b"half")
    (made / names(1)[0]).write_bytes(CONTENT + b"\x01")  # killed before it was deleted
    (first,) = bucket.list(PREFIX)
    bucket.delete(first.locator, generation=first.generation)  # and before it was copied
    store(folders, bucket, 2)
    assert copied(bucket) == [names(1)[1], names(2)[1]]
    assert (kept / names(1)[1]).read_bytes() == before
    assert store(folders, bucket) == []
    assert not list(kept.glob("*.part"))
    assert list(made.iterdir()) == []


def test_dump__that_the_bucket_has_otherwise__keeps_no_newer_one_from_it(folders: Folders, bucket: GcsStore) -> None:
    store(folders, bucket, 1)
    with (folders[1] / names(1)[1]).open("ab") as altered:
        altered.write(b"more")
    with pytest.raises(BackupFailed, match=f"another {names(1)[1]}"):
        store(folders, bucket, 2)
    assert copied(bucket) == [names(1)[1], names(2)[1]]


def test_dumps__that_are_kept__are_the_newest(folders: Folders, bucket: GcsStore) -> None:
    (folders[1] / "lost+found").mkdir()
    store(folders, bucket, *range(2, KEPT + 3))
    assert sorted(each.name for each in folders[1].glob("*.dump*")) == [names(day)[1] for day in range(3, KEPT + 3)]


def test_bucket__that_is_away__fails_the_job_and_the_next_night_copies_both(
    folders: Folders, bucket: GcsStore, settings: StorageSettings
) -> None:
    away = GcsStore(StorageSettings("another", "http://127.0.0.1:1", settings.credentials), retry_seconds=0.1)
    with pytest.raises(ServiceError):
        store(folders, away, 1)
    assert [each.name for each in folders[1].iterdir()] == [names(1)[1]]
    store(folders, bucket, 2)
    assert copied(bucket) == [names(1)[1], names(2)[1]]


def test_object__of_another_size_under_a_name__is_reported_and_kept(folders: Folders, bucket: GcsStore) -> None:
    store(folders, bucket, 1)
    (folders[1] / names(1)[1]).write_bytes(b"something else")
    with pytest.raises(BackupFailed, match="another 20200101T021700Z"):
        store(folders, bucket)
    assert len(copied(bucket)) == 1


def test_job__without_a_dump__fails(folders: Folders, bucket: GcsStore) -> None:
    with pytest.raises(BackupFailed, match="no dump to store"):
        store(folders, bucket)


@pytest.mark.parametrize("name", [None, names(1)[1], "../../etc/passwd", names(1)[0]])
def test_fetch__of_what_is_not_there__is_refused(folders: Folders, bucket: GcsStore, name: str | None) -> None:
    with pytest.raises(BackupFailed, match="the bucket has no dump"):
        fetch_dump(bucket, folders[2], [OPERATOR], lambda _: None, name=name)


class At:
    """A clock that stands still."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> UnixSeconds:
        return UnixSeconds(self._now)

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


def test_age__of_a_dump__is_bounded() -> None:
    made = 1_577_845_020  # 2020-01-01 02:17:00 UTC
    check_age(Path(names(1)[0]), At(made + 30 * 3600 - 1), hours=30)
    check_age(Path(names(1)[0]), At(made - 3600), hours=30)
    with pytest.raises(BackupFailed, match="of the future"):
        check_age(Path(names(1)[0]), At(made - 3601), hours=30)
    with pytest.raises(BackupFailed, match="is 30 hours old"):
        check_age(Path(names(1)[0]), At(made + 30 * 3600), hours=30)


def test_commands__with_their_settings__store_and_fetch(
    folders: Folders,
    bucket: GcsStore,
    settings: StorageSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made, kept, target = folders
    (made / names(1)[0]).write_bytes(CONTENT)
    keys = tmp_path / "keys"
    keys.write_text(json.dumps([CLUSTER.to_text()]))
    keys.chmod(0o440)
    (tmp_path / "account").write_text(settings.credentials or "")
    environment = {
        "SERVICE_BACKUP_BUCKET": settings.bucket,
        "SERVICE_STORAGE_ENDPOINT": settings.endpoint or "",
        "SERVICE_STORAGE_CREDENTIALS_FILE": str(tmp_path / "account"),
        "SERVICE_BACKUP_RECIPIENTS": ",".join(map(recipient_text, RECIPIENTS)),
        "SERVICE_BACKUP_PRIVATE_KEYS_FILE": str(keys),
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    main = service_api.main.main
    assert main(["store-dump", str(made), str(kept)]) == 0
    for chosen in ([], ["--backups", str(kept), "--name", names(1)[1]]):
        capsys.readouterr()
        assert main(["fetch-dump", str(target), *chosen]) == 0
        assert capsys.readouterr().out == f"{target / names(1)[0]}\n"
        assert (target / names(1)[0]).read_bytes() == CONTENT
        (target / names(1)[0]).unlink()
    for wrong in (["--name", names(2)[1]], ["--backups", str(kept)], ["--hours", "1"]):
        with pytest.raises(SystemExit) as ended:
            main(["fetch-dump", str(target), *wrong])
        assert isinstance(ended.value.code, str), "one sentence"


def test_settings__that_are_missing__are_named_together(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERVICE_BACKUP_BUCKET", raising=False)
    assert service_api.main.main(["store-dump", "a", "b"]) == 2
    assert {"SERVICE_BACKUP_BUCKET", "SERVICE_BACKUP_RECIPIENTS"} <= set(
        capsys.readouterr().err.replace(",", " ").split()
    )


A, B = (recipient_text(each.public_key) for each in (OPERATOR, OTHER))


@pytest.mark.parametrize("text", ["", "age1", f"{A},{A}", f"{A} {B}", OTHER.to_text(), f"{A},"], ids=range(6))
def test_recipients__that_are_none__are_refused(text: str) -> None:
    assert parse_recipients(f"{A}, {B}") == (OPERATOR.public_key, OTHER.public_key)
    with pytest.raises(ValueError, match="age recipients"):
        parse_recipients(text)
