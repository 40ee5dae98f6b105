"""Strangers: requests that are malformed, replayed or for somebody else, junk uploads, transactions out of turn."""

import json
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import urllib3
from bounty_protocol.auth.header import format_header, parse_header
from bounty_protocol.chain.rpc import ChainUnavailable, RpcRefused
from bounty_protocol.types import parse_address

from tools.market.drawn import source
from tools.market.people import ANSWER_SECONDS, Actor, NotMined, Town

PAUSE_SECONDS: Final = 1.0
_SECRET: Final = f"/api/bounties/1/submissions/0x{0:064x}/content"


@dataclass
class Stranger:
    """One of them, with its own account, until the run's time is over."""

    town: Town
    actor: Actor
    seed: int
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """One hostile act after the other."""
        chosen = source(self.seed, self.actor.name)
        acts: list[Callable[[random.Random], None]] = [
            self._malformed, self._replayed, self._junk_upload, self._out_of_turn, self._nonsense, self._read,
        ]  # fmt: skip
        while not self.ended.wait(PAUSE_SECONDS * chosen.uniform(0.5, 1.5)):
            act = chosen.choice(acts)
            try:
                act(chosen)
            except (urllib3.exceptions.HTTPError, ChainUnavailable, NotMined, RpcRefused, OSError, ValueError) as error:
                # Something is broken at the moment; what is answered is looked at, what is not answered is not.
                self.town.log.write(
                    "hostile", "unanswered", act=act.__name__, why=f"{type(error).__name__}: {error}"[:200]
                )
            except Exception as error:  # noqa: BLE001 - a stranger who stops would be an easier market
                self.town.log.differs("a hostile act broke", act=act.__name__, why=repr(error)[:500])

    def _expect(self, act: str, answer: urllib3.BaseHTTPResponse, *refusals: int) -> None:
        self.town.look_at(answer, "?", act)
        if answer.status < 400:
            self.town.log.differs("a hostile request was accepted", act=act, status=answer.status)
        result = "refused" if answer.status in refusals else "unavailable"
        self.town.log.write("hostile", result, act=act, status=answer.status)

    def _sent(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> urllib3.BaseHTTPResponse:
        url = self.town.stack.api_base_url + path
        return urllib3.request(method, url, body=body or None, headers=headers, retries=False, timeout=ANSWER_SECONDS)

    def _bounty(self, chosen: random.Random) -> int:
        """Return one of the newest, which are most often open."""
        return chosen.choice(self.town.funded[-12:] or [1])

    def _malformed(self, chosen: random.Random) -> None:
        """A signature with one thing changed."""
        good = self.town.approval("GET", _SECRET, b"", self.actor)["Authorization"]
        place = chosen.randrange(len(good))
        other = chosen.choice([letter for letter in '0123456789abcdefXYZ=, "' if letter != good[place]])
        headers = chosen.choice(
            [
                good[:place],
                good + good,
                "Bearer " + "A" * chosen.randrange(1, 6_000),
                format_header(replace(parse_header(good), address=parse_address(self.town.actors["poster"].address))),
                good[: len(good) // 2 + 1] + other + good[len(good) // 2 + 2 :],
            ]
        )
        if headers != good:
            self._expect(
                "malformed", self._sent("GET", _SECRET, b"", {"Authorization": headers.strip()}), 400, 401, 403
            )

    def _replayed(self, chosen: random.Random) -> None:
        """A signature of one request with another one."""
        body = json.dumps({"ciphertext_sha256": "0x" + "11" * 32, "ciphertext_byte_length": 1_000}).encode()
        number = self._bounty(chosen)
        path = f"/api/bounties/{number}/submissions/{self.actor.address}/artifact-upload-url"
        headers = {**self.town.approval("POST", path, body, self.actor), "Content-Type": "application/json"}
        victim = self.town.actors[chosen.choice(("solver-4", "solver-5"))].address
        others = [
            ("POST", path.replace(f"/{number}/", f"/{number + 1}/"), body),
            ("POST", path.replace(self.actor.address, victim), body),
            ("POST", path, body.replace(b"1000", b"1001")),
            ("POST", path.replace("artifact-upload-url", "prepare"), body),
        ]
        self._expect("replayed", self._sent(*chosen.choice(others), headers), 400, 401, 403, 404, 409)

    def _junk_upload(self, chosen: random.Random) -> None:
        """Bytes that are not what the upload URL is for, and an envelope of nothing."""
        number = self._bounty(chosen)
        path = f"/api/bounties/{number}/submissions/{self.actor.address}"
        wanted = {"ciphertext_sha256": "0x" + chosen.randbytes(32).hex(), "ciphertext_byte_length": 500}
        answer = self.town.request("POST", f"{path}/artifact-upload-url", json.dumps(wanted).encode(), by=self.actor)
        if answer.status == 200:
            target = answer.json()
            put = urllib3.request(
                target["upload_method"], target["upload_url"], body=chosen.randbytes(chosen.choice((500, 499, 2_000))),
                headers=target["upload_headers"], retries=False, timeout=20.0,
            )  # fmt: skip
            self.town.log.write("hostile", "uploaded", act="junk", status=put.status)
        envelope = chosen.choice((b"{}", b"[" * 500, b'{"version": 2}', chosen.randbytes(300)))
        refused = self.town.request("POST", f"{path}/prepare", envelope, by=self.actor)
        self._expect("junk envelope", refused, 400, 404, 409, 413)

    def _out_of_turn(self, chosen: random.Random) -> None:
        """Transactions that the Hub has to refuse, and tokens that belong to nobody."""
        hub, number = self.town.hub, self._bounty(chosen)
        if chosen.random() < 0.2:
            self.town.transact(self.actor, self.town.stack.hub.token, "transfer", hub.address, 1)
            self.town.log.write("hostile", "donated", act="transfer")
            return
        calls: list[tuple[object, ...]] = [
            ("claim", number, b"", b""),
            ("claimRefund", number),
            ("claimGuardianFee", number),
            ("claimProtocolFee", number),
            ("recordVerdict", number, 2, "0x" + "0" * 40, bytes(32), chosen.randbytes(32)),
            ("heartbeat",),
            ("setFeePolicy", 0, 0, self.actor.address),
        ]
        name, *arguments = chosen.choice(calls)
        try:
            self.town.transact(self.actor, hub, str(name), *arguments)
        except NotMined as refused:
            self.town.log.write("hostile", "refused", act=name, why=str(refused)[:100])
        else:
            self.town.log.differs("the Hub took a call of a stranger", act=name, bounty=number)

    def _nonsense(self, chosen: random.Random) -> None:
        """Reads that name nothing."""
        path = chosen.choice(
            (
                "/api/bounties/99999999999999999999",
                "/api/bounties/0",
                "/api/changes?after=-1",
                "/api/bounties?cursor=%00",
                "/api/written-verdicts/0x" + "0" * 63,
                "/api/accounts/0x1",
                "/api/bounties?limit=1000000",
            )
        )
        self._expect("nonsense", self.town.request("GET", path), 400, 404)

    def _read(self, chosen: random.Random) -> None:
        """What everybody reads, as often as they like."""
        path = chosen.choice(("/api/bounties", "/api/status", "/api/changes", f"/api/bounties/{self._bounty(chosen)}"))
        answer = self.town.request("GET", path)
        self.town.log.write("read", str(answer.status), path=path)
