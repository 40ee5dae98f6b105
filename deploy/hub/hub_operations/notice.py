"""``./noxw -s hub_notice``: a notice about the Hub, from its text in a wallet to the API and to people.

``write`` makes what is to be signed, ``finish`` puts the signatures in and checks the notice against the chain,
``publish`` brings it to an API. Whoever the Hub's owner names for notices signs: a Safe, whose owners each sign the
message that ``write`` has for them in a wallet of their own, or a plain key. Nothing here sends a transaction.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import urllib3
from bounty_protocol.auth.signature import recover
from bounty_protocol.auth.typed_data import notice_digest, notice_typed_data
from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.hub_notices import is_signed, may_sign, why_void
from bounty_protocol.chain.json_rpc import JsonRpc, quantity
from bounty_protocol.clock import iso_utc
from bounty_protocol.domain.hub_notice import (
    MAX_LIFETIME_SECONDS,
    HubNotice,
    NoticeReason,
    NoticeSignature,
    parse_notice_signature,
)
from bounty_protocol.keccak import keccak256
from bounty_protocol.shapes import to_json
from bounty_protocol.types import ChainId, UnixSeconds, bytes32, parse_address
from bounty_protocol.wire.reading import read
from eth_account.messages import SignableMessage, encode_typed_data

from hub_operations.deploy import has_code
from hub_operations.signing import OperationRefused, read_account

DAY_SECONDS: Final = 86_400
USUAL_DAYS: Final = 7
UNSIGNED: Final = NoticeSignature("0x00")
_SAFE_DOMAIN: Final = [{"name": "chainId", "type": "uint256"}, {"name": "verifyingContract", "type": "address"}]
_HTTP: Final = urllib3.PoolManager(retries=False, timeout=30.0)


def safe_message(notice: HubNotice) -> dict[str, object]:
    """The message that each owner of a Safe signs, so that the Safe takes a notice as its own (ERC-1271)."""
    return {
        "types": {"EIP712Domain": _SAFE_DOMAIN, "SafeMessage": [{"name": "message", "type": "bytes"}]},
        "primaryType": "SafeMessage",
        "domain": {"chainId": notice.chain_id, "verifyingContract": notice.signer},
        "message": {"message": "0x" + notice_digest(notice).hex()},
    }


def write(options: argparse.Namespace) -> None:
    """The message to sign, as a file; with --sign also one signature by the key of HUB_OWNER_PRIVATE_KEY_FILE."""
    rpc = JsonRpc([options.rpc_url])
    hub, reason, now = Hub(rpc, options.hub), NoticeReason(options.reason), int(time.time())
    if not may_sign(hub, options.by):
        raise OperationRefused(f"{options.by} is neither the Hub's owner nor a canceller of the timelock that owns it")
    lasts = MAX_LIFETIME_SECONDS if reason is NoticeReason.WITHDRAWN else options.days * DAY_SECONDS
    if not 0 < lasts <= MAX_LIFETIME_SECONDS:
        raise OperationRefused(f"--days is 1 to {MAX_LIFETIME_SECONDS // DAY_SECONDS}")
    notice = HubNotice(
        chain_id=ChainId(quantity(rpc.call("eth_chainId"))),
        hub_address=hub.address,
        signer=options.by,
        reason=reason,
        issued_at=UnixSeconds(now),
        expires_at=UnixSeconds(now + lasts),
        signature=UNSIGNED,
    )
    print(f"chain {notice.chain_id}, Hub {notice.hub_address}\n{_words(notice)}")
    is_safe = has_code(rpc, options.by)
    signed = safe_message(notice) if is_safe else notice_typed_data(notice)
    draft = {"notice": to_json(notice), "typed_data": notice_typed_data(notice), "to_sign": signed}
    _write(options.file, draft)
    who = "as many of the Safe's owners as it needs sign" if is_safe else f"{options.by} signs"
    print(f"\nwritten to {options.file}: {who} its to_sign (eth_signTypedData_v4), digest {bytes32(_digest(signed))}")
    if options.sign:
        print(f"signature of {read_account().address.lower()}: 0x{_sign(signed).hex()}")


def finish(options: argparse.Namespace) -> None:
    """The notice with its signatures, checked against the chain."""
    try:
        draft = json.loads(options.draft.read_text(encoding="utf-8"))
        notice = read(HubNotice, draft["notice"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OperationRefused(f"{options.draft} is no file of write: {error}") from error
    rpc = JsonRpc([options.rpc_url])
    for signature in _candidates(notice, [bytes.fromhex(each[2:]) for each in options.signatures]):
        signed = replace(notice, signature=NoticeSignature("0x" + signature.hex()))
        if is_signed(rpc, signed):
            break
    else:
        problem = "these signatures are not enough, or of other accounts, or over something else"
        raise OperationRefused(f"{notice.signer} does not take them: {problem}")
    chain_id = ChainId(quantity(rpc.call("eth_chainId")))
    if issues := why_void(Hub(rpc, notice.hub_address), chain_id, signed, UnixSeconds(int(time.time()))):
        raise OperationRefused("; ".join(f"{issue.path} {issue.message}" for issue in issues))
    _write(options.file, to_json(signed))
    print(f"chain {signed.chain_id}, Hub {signed.hub_address}\n{_words(signed)}")
    print(f"\nwritten to {options.file}: publish it, and pass the file on; `service-cli notice FILE` checks it")


def publish(options: argparse.Namespace) -> None:
    """Bring the notice to APIs; each checks it against the chain."""
    try:
        body = options.notice.read_bytes()
    except OSError as error:
        raise OperationRefused(f"{options.notice} cannot be read: {error.strerror}") from error
    failed = []
    for api in options.apis:
        headers = {"Content-Type": "application/json"}
        try:
            answer = _HTTP.request("POST", f"{api.rstrip('/')}/api/hub-notices", body=body, headers=headers)
            told, words = _told(answer.status, answer.data, body)
        except urllib3.exceptions.HTTPError as error:
            told, words = False, f"did not answer ({type(error).__name__})"
        print(f"{api}: {words}")
        failed += [] if told else [api]
    if failed:
        raise OperationRefused(f"not published at {', '.join(failed)}")


def _told(status: int, answer: bytes, body: bytes) -> tuple[bool, str]:
    """Whether an API has the notice in effect now, and what to say of it."""
    if status == 201:
        return True, "published"
    if status != 200:
        return False, f"refused with {status}: {answer[:600].decode('utf-8', 'replace')}"
    try:
        kept, sent = read(HubNotice, json.loads(answer)), read(HubNotice, json.loads(body))
        if replace(sent, signature=kept.signature) == kept:  # other owners of a Safe may have signed the same
            return True, "there already"
    except (ValueError, KeyError, TypeError):
        return False, "answered something else than a notice"
    return False, (
        f"not in effect: a later one of this account is there, {kept.reason} of {iso_utc(kept.issued_at)}; look at the "
        "clocks, and write one anew after that moment"
    )


def _candidates(notice: HubNotice, signatures: list[bytes]) -> list[bytes]:
    """One signature as it is; several as a Safe takes them, in the order of the accounts that made them."""
    digest = _digest(safe_message(notice))
    owners = {owner: each for each in signatures if (owner := recover(digest, each)) is not None}
    joined = b"".join(owners[owner] for owner in sorted(owners, key=lambda each: int(each, 16)))
    return [each for each in (*(signatures if len(signatures) == 1 else ()), joined) if each]


def _sign(typed: dict[str, object]) -> bytes:
    return bytes(read_account().sign_message(encode_typed_data(full_message=typed)).signature)


def _digest(typed: dict[str, object]) -> bytes:
    message: SignableMessage = encode_typed_data(full_message=typed)
    return keccak256(b"\x19" + message.version + message.header + message.body)


def _words(notice: HubNotice) -> str:
    ends = iso_utc(notice.expires_at)
    if notice.is_warning:
        return f"{notice.signer} states {notice.reason}: clients and pages fund no bounty until {ends}"
    return f"{notice.signer} withdraws what it stated before: clients and pages fund again"


def _write(file: Path, value: Any) -> None:
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(json.dumps(value, indent=2) + "\n")
    except OSError as error:
        raise OperationRefused(f"{file} cannot be written: {error.strerror}") from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of ``notice``."""
    actions = parser.add_subparsers(dest="action", required=True)
    made = {name: actions.add_parser(name, help=str(run.__doc__).splitlines()[0]) for name, run in ACTIONS.items()}
    for name in ("write", "finish"):
        made[name].add_argument("--rpc-url", required=True)
        made[name].add_argument("--file", metavar="FILE", type=Path, required=True, help="a new file to write")
    made["write"].add_argument("--hub", type=parse_address, required=True)
    made["write"].add_argument("--by", type=parse_address, required=True, help="the canceller, best a Safe")
    made["write"].add_argument("--days", type=int, default=USUAL_DAYS, help=f"until its end, {USUAL_DAYS} unless given")
    made["write"].add_argument("--sign", action="store_true", help="sign with HUB_OWNER_PRIVATE_KEY_FILE, too")
    made["write"].add_argument("reason", choices=[each.value for each in NoticeReason])
    made["finish"].add_argument("draft", type=Path, help="the file of write")
    made["finish"].add_argument("signatures", nargs="+", type=parse_notice_signature, help="0x…, one of each owner")
    made["publish"].add_argument("notice", type=Path, help="the file of finish")
    made["publish"].add_argument("apis", nargs="+", help="https://…, the base address of each API")


ACTIONS: Final = {"write": write, "finish": finish, "publish": publish}


def run(options: argparse.Namespace) -> None:
    """The command ``notice``."""
    ACTIONS[options.action](options)
