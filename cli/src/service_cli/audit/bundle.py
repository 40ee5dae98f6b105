"""The evidence of an audit in one file that anybody can check again: ``--bundle`` writes it, ``--from`` reads it.

A zip whose entries have fixed names and times, with a manifest of their digests; the same evidence gives the same
bytes. Nothing is ever extracted. Other names, an entry twice, more or larger entries than an audit has, encryption, and
anything that is not of the format are refused (``bundle_refused``); ``judge_manifest`` names altered entries.
"""

import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final

from bounty_protocol.chain.events import Log
from bounty_protocol.crypto.beacon_info import BeaconInfo, parse_beacon_key
from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.shapes import to_json
from bounty_protocol.types import MAX_INT64, Address, BlockNumber, BountyId, Bytes32, ChainId, HexData, UnixSeconds
from bounty_protocol.wire.reading import read

from service_cli.audit.history import ChainEvidence, FinalizedBlock, Read, ServiceEvidence
from service_cli.audit.report import Report, differing
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.ui.new_files import new_file
from service_cli.ui.text import printable

VIEWS = {"getBounty", "getRoster", "getVerdict", "getSubmission"}


@dataclass(frozen=True, slots=True)
class _LogEntry:
    block_number: BlockNumber
    block_hash: Bytes32
    log_index: int
    tx_hash: Bytes32
    topics: tuple[Bytes32, ...]
    data: HexData


@dataclass(frozen=True, slots=True)
class _ChainFile:
    """The object that ``chain.json`` of a bundle holds."""

    chain_id: ChainId
    hub_address: Address
    bounty_id: BountyId
    finalized: FinalizedBlock
    logs: tuple[_LogEntry, ...]
    times: dict[Bytes32, UnixSeconds]
    reads: tuple[Read, ...]
    beacon: BeaconInfo | None


def chain_to_json(chain: ChainEvidence) -> dict[str, object]:
    """The object that ``chain.json`` of a bundle holds."""
    logs = (
        _LogEntry(log.block_number, log.block_hash, log.log_index, log.tx_hash, log.topics, HexData(log.data))
        for log in chain.logs
    )
    return to_json(
        _ChainFile(
            chain_id=chain.chain_id,
            hub_address=chain.hub_address,
            bounty_id=chain.bounty_id,
            finalized=chain.finalized,
            logs=tuple(logs),
            times=dict(chain.times),
            reads=chain.reads,
            beacon=chain.beacon,
        )
    )


def chain_from_json(value: object) -> ChainEvidence:
    """The evidence of ``chain.json``; ``ValueError`` for anything that ``chain_to_json`` does not make."""
    file = read(_ChainFile, value)
    if not all(0 <= number <= MAX_INT64 for number in (file.chain_id, *(log.log_index for log in file.logs))):
        raise ValueError("not a whole number")
    if not {each.function for each in file.reads} <= VIEWS:
        raise ValueError("not a view that an audit reads")
    beacon = file.beacon
    if beacon is not None:
        if not 1 <= beacon.period_seconds <= MAX_INT64:
            raise ValueError("not a period")
        beacon = replace(beacon, public_key=parse_beacon_key(beacon.public_key))
    hub = file.hub_address
    return ChainEvidence(
        chain_id=file.chain_id,
        hub_address=hub,
        bounty_id=file.bounty_id,
        finalized=file.finalized,
        logs=tuple(
            Log(hub, log.block_number, log.block_hash, log.log_index, log.tx_hash, log.topics, log.data)
            for log in file.logs
        ),
        times=file.times,
        reads=file.reads,
        beacon=beacon,
    )


VERSION: Final = 1
MAX_TOTAL_BYTES: Final = 64 * 2**20
MAX_FILE_BYTES: Final = MAX_TOTAL_BYTES + 2**20
"""Random bytes are not packed smaller, and what a service answers may be random."""
MAX_ENTRIES: Final = 2_000
_HEADER: Final = b"PK\x01\x02"
"""How each entry of a zip file's directory begins."""
MANIFEST: Final = "manifest.json"
CHAIN: Final = "chain.json"
DETAIL: Final = "service/bounty.json"
_ENTRY: Final = re.compile(r"service/(written-verdicts|envelopes)/(0x[0-9a-f]{64})\.(md|json)")
LIMITS: Final = {MANIFEST: 2**20, CHAIN: 24 * 2**20, DETAIL: 16 * 2**20}
_MOST_DECIMALS: Final = 36
_TIME: Final = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class TokenLabel:
    """How the escrow token described itself when the bundle was made; for showing amounts, and nothing else."""

    symbol: str
    decimals: int


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle as it was read: the evidence, what its manifest states, and what its entries hash to."""

    chain: ChainEvidence
    service: ServiceEvidence
    announced: Mapping[str, object]
    found: Mapping[str, str]
    token: TokenLabel | None = None
    """None in a bundle of an earlier release, and where the token did not describe itself."""


def write_bundle(path: Path, chain: ChainEvidence, service: ServiceEvidence, token: TokenLabel | None = None) -> None:
    """Write a new file that ``read_bundle`` takes; one that exists is never written over."""
    entries = {CHAIN: _json_bytes(chain_to_json(chain))}
    if service.detail is not None:
        entries[DETAIL] = service.detail
    entries |= {f"service/written-verdicts/{name}.md": content for name, content in service.verdicts.items()}
    entries |= {f"service/envelopes/{name}.json": content for name, content in service.envelopes.items()}
    manifest = {
        "version": VERSION,
        "bounty_id": str(chain.bounty_id),
        "active_until": list(service.active_until),
        "missing": service.missing,
        "token": None if token is None else {"symbol": token.symbol, "decimals": token.decimals},
        "files": {name: _digest(content) for name, content in sorted(entries.items())},
    }
    entries = {MANIFEST: _json_bytes(manifest)} | dict(sorted(entries.items()))
    _require_readable(entries)
    try:
        with new_file(path) as file:
            _pack(file, entries)
    except FileExistsError:
        raise CommandRefused(
            "bundle_exists", f"{path} exists already.", next_action="Name a file that is new."
        ) from None
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or 'it failed'}."
        raise CommandFailed("bundle_not_written", message, next_action="Check the path.") from error


def _require_readable(entries: Mapping[str, bytes]) -> None:
    """Refuse evidence that is more than anybody reads again."""
    sizes = {name: (len(content), LIMITS.get(name, MAX_DOCUMENT_BYTES)) for name, content in entries.items()}
    sizes["all of it"] = (sum(map(len, entries.values())), MAX_TOTAL_BYTES)
    for name, (size, most) in sizes.items():
        if size > most:
            message = f"The evidence does not fit into a bundle: {name} has {size} bytes, and {most} are read."
            raise CommandRefused("bundle_too_large", message, next_action="Run it again without --bundle.")


def _pack(file: IO[bytes], entries: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            info = zipfile.ZipInfo(name, _TIME)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, content)


def require_writable(path: Path) -> None:
    """Refuse before anything is requested what could not be written at the end."""
    if path.exists():
        raise CommandRefused("bundle_exists", f"{path} exists already.", next_action="Name a file that is new.")
    if not path.absolute().parent.is_dir():
        message = f"{path} is in no directory that exists."
        raise CommandRefused(
            "bundle_not_written", message, next_action="Make the directory first, or name another file."
        )


def read_bundle(path: Path) -> Bundle:
    """Read a bundle of anybody's making."""
    entries = _entries(path)
    manifest, chain = _parsed(entries, MANIFEST), _parsed(entries, CHAIN)
    files, missing, active = manifest.get("files"), manifest.get("missing"), manifest.get("active_until")
    if manifest.get("version") != VERSION or not isinstance(files, dict) or not isinstance(missing, dict):
        raise _refused(f"its manifest is not one of version {VERSION}")
    if not isinstance(active, list) or not all(isinstance(at, int) for at in active):
        raise _refused("its manifest names no times")
    try:
        evidence = chain_from_json(chain)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise _refused(f"{CHAIN} does not have the form of chain evidence") from None
    service = ServiceEvidence(
        detail=entries.get(DETAIL),
        active_until=tuple(active),
        missing={str(name): str(reason) for name, reason in missing.items()},
    )
    for name, content in entries.items():
        if (document := _ENTRY.fullmatch(name)) is not None:
            target = service.envelopes if document[1] == "envelopes" else service.verdicts
            target[Bytes32(document[2])] = content
    found = {name: _digest(content) for name, content in entries.items() if name != MANIFEST}
    return Bundle(evidence, service, files, found, _token(manifest.get("token")))


def _token(value: object) -> TokenLabel | None:
    if value is None:
        return None
    symbol, decimals = (value.get("symbol"), value.get("decimals")) if isinstance(value, dict) else (None, None)
    is_number = isinstance(decimals, int) and not isinstance(decimals, bool) and 0 <= decimals <= _MOST_DECIMALS
    if not isinstance(symbol, str) or not is_number:
        raise _refused("its manifest describes no token")
    assert isinstance(decimals, int)  # noqa: S101  # as is_number states
    return TokenLabel(printable(symbol), decimals)


def judge_manifest(bundle: Bundle, wanted: BountyId | None, report: Report) -> None:
    """Entries and manifest agree; the bounty is the one that was named."""
    names = sorted({*bundle.announced, *bundle.found}, key=str)
    found = [
        differing(str(name), bundle.found.get(str(name), "no such entry"), bundle.announced.get(name, "not announced"))
        for name in names
        if bundle.found.get(str(name)) != bundle.announced.get(name)
    ]
    if wanted is not None and wanted != bundle.chain.bounty_id:
        found.append(differing("bounty_id", bundle.chain.bounty_id, wanted))
    report.judge("bundle", found, f"{len(bundle.found)} entries hash to what its manifest says")


def _entries(path: Path) -> dict[str, bytes]:
    """Every entry's bytes, bounded in number and in size no matter what its headers state."""
    try:
        content = _content(path)
        if content.count(_HEADER) > 2 * MAX_ENTRIES:  # before the library makes an object of each
            raise _refused("it has too many entries")
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            if len(infos) > MAX_ENTRIES:
                raise _refused(f"it has {len(infos)} entries")
            entries: dict[str, bytes] = {}
            left = MAX_TOTAL_BYTES
            for info in infos:
                _check_entry(info, entries)
                limit = min(left, LIMITS.get(info.filename, MAX_DOCUMENT_BYTES))
                with archive.open(info) as entry:
                    read = entry.read(limit + 1)
                if len(read) > limit:
                    raise _refused(f"its entry {info.filename} is too large")
                entries[info.filename] = read
                left -= len(read)
            return entries
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or 'it failed'}."
        raise CommandRefused("file_unreadable", message, next_action="Check the path.") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError):
        raise _refused("it is no zip file, or a broken one") from None


def _content(path: Path) -> bytes:
    """The whole file, if it is a plain one of a bundle's size; a device or a pipe would have no end."""
    if path.exists() and not path.is_dir() and not path.is_file():
        raise _refused("it is no plain file")
    with path.open("rb") as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise _refused("it is too large for a bundle")
    return content


def _check_entry(info: zipfile.ZipInfo, seen: Mapping[str, bytes]) -> None:
    if info.filename not in LIMITS and _ENTRY.fullmatch(info.filename) is None:
        raise _refused("it has an entry of another name than a bundle's")
    if info.filename in seen:
        raise _refused(f"its entry {info.filename} is there twice")
    if info.flag_bits & 1 or info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise _refused(f"its entry {info.filename} is encrypted or packed in another way")


def _parsed(entries: Mapping[str, bytes], name: str) -> dict[str, object]:
    try:
        value = json.loads(entries[name])
    except KeyError:
        raise _refused(f"it has no {name}") from None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise _refused(f"its {name} is no JSON object")
    return value


def _json_bytes(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, indent=1).encode()


def _digest(content: bytes) -> str:
    return "0x" + hashlib.sha256(content).hexdigest()


def _refused(problem: str) -> CommandRefused:
    return CommandRefused(
        "bundle_refused", f"This is not a bundle of an audit: {problem}.", next_action="Get another copy."
    )
