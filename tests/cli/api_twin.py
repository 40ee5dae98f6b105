"""The service's API as a twin that tells the truth of a ``Ledger`` until a test gives it a lie.

It answers what the client needs, in the interface's shapes, from the chain and from what was sent to it. ``lies`` alter
one route's answer; ``scripts`` answer in a route's place. End-to-end tests run the client against the real service.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar
from urllib.parse import parse_qs

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.deployment import caip_10
from bounty_protocol.chain.events import Log, decode_log, parse_log
from bounty_protocol.chain.hub import BountyView, Hub
from bounty_protocol.chain.hub_constants import read_token
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.crypto import sealed_box
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.challenge.commitments import report_commitment, spec_commitment
from bounty_protocol.domain.challenge.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.domain.envelope.checks import ExpectedEnvelope, envelope_differences
from bounty_protocol.domain.envelope.document import parse_envelope
from bounty_protocol.domain.envelope.locator import storage_locator
from bounty_protocol.domain.lifecycle.bounty import Winner
from bounty_protocol.domain.lifecycle.hub_events import BountyCreated, BountyTerms, HubEvent, SubmissionRecorded
from bounty_protocol.domain.lifecycle.roster import Roster, RosterMember
from bounty_protocol.domain.lifecycle.states import BountyStatus, Outcome
from bounty_protocol.domain.money.amounts import fee_amount
from bounty_protocol.domain.money.terms import Terms
from bounty_protocol.errors import ServiceError
from bounty_protocol.keccak import keccak256
from bounty_protocol.shapes import keys, to_json
from bounty_protocol.types import (
    Address,
    BlockNumber,
    BountyId,
    Bytes32,
    ChainId,
    TokenAmount,
    UnixSeconds,
    bytes32,
)
from bounty_protocol.wire.bounties import ActiveSubmission, Block, BountyDetail, BountyItem, ChallengeTerms, Facts
from bounty_protocol.wire.deployment import CurrentFees, Deployment, HubLimits, TokenDescription
from bounty_protocol.wire.errors import ErrorBody, error_body
from bounty_protocol.wire.reading import read
from bounty_protocol.wire.values import Finality
from bounty_protocol.wire.withheld import Withheld

from tests.cli.ledger import Ledger
from tests.cli.servers import Reply, Request, Server, as_json

E = TypeVar("E", bound=HubEvent)
Json = dict[str, object]
BLOCK = Block(BlockNumber(1), Bytes32("0x" + "11" * 32))
Lie = Callable[[Json], object]

ROUTES = {
    "publish": ("POST", r"/api/bounty-challenge-specs/prepare-publication"),
    "detail": ("GET", r"/api/bounties/(\d+)"),
    "list": ("GET", r"/api/bounties"),
    "changes": ("GET", r"/api/changes"),
    "upload_url": ("POST", r"/api/bounties/(\d+)/submissions/(0x[0-9a-f]{40})/artifact-upload-url"),
    "put": ("PUT", r"/objects/(.+)"),
    "download": ("GET", r"/objects/(.+)"),
    "prepare": ("POST", r"/api/bounties/(\d+)/submissions/(0x[0-9a-f]{40})/prepare"),
    "content": ("GET", r"/api/bounties/(\d+)/submissions/(0x[0-9a-f]{64})/content"),
    "verdict_write": ("POST", r"/api/written-verdicts/(0x[0-9a-f]{64})"),
    "verdict_read": ("GET", r"/api/written-verdicts/(0x[0-9a-f]{64})"),
    "document": ("GET", r"/api/written-verdicts/(0x[0-9a-f]{64})/document"),
    "delivery_key": ("GET", r"/api/deployment/delivery-key"),
    "deployment": ("GET", r"/api/deployment"),
    "index": ("GET", r"/api/status"),
    "wrap": ("POST", r"/api/bounties/(\d+)/delivery/wrap"),
    "status": ("GET", r"/api/bounties/(\d+)/delivery/status"),
    "retrieve": ("POST", r"/api/bounties/(\d+)/delivery/retrieve"),
    "subgraph": ("POST", r"/subgraph"),
}


def withheld_error(code: str, found: Withheld) -> ErrorBody:
    """What is answered beside a text that is withheld, or in its place."""
    return error_body(ServiceError(code, f"It is withheld here by this service's operator: {found.reason}"))


class ApiTwin:
    """One running twin; ``node_url`` is where it reads the chain, where that is not the ledger's own node."""

    def __init__(self, ledger: Ledger, node_url: str | None = None) -> None:
        self.ledger = ledger
        self.rpc = Rpc([node_url or ledger.node.url])
        self.hub = Hub(self.rpc, Address(ledger.contract.address))
        self.chain_id = ChainId(ledger.node.chain_id)
        self.pages: dict[str, bytes] = {}
        self.objects: dict[str, bytes] = {}
        self.envelopes: dict[str, bytes] = {}
        self.verdicts: dict[str, bytes] = {}
        self.withheld: dict[str, Withheld] = {}
        """By the commitment of a page or a written Verdict."""
        self.wraps: dict[str, str] = {}
        self.subgraph: Json = {"seats": [], "bounties": [], "awarded": []}
        self.lost: list[Json] = []
        """Submissions whose sealed bytes the storage has lost."""
        self.listed: Json = {"items": [], "next_cursor": None}
        self.changes: list[Json] = []
        self.lies: dict[str, Lie] = {}
        self.scripts: dict[str, Callable[[Request], Reply | None]] = {}
        self.server = Server(self._answer)

    @property
    def url(self) -> str:
        return self.server.url

    def close(self) -> None:
        self.server.close()

    def variables(self) -> dict[str, str]:
        """What the client has in its environment."""
        return {
            **self.ledger.variables(),
            "SERVICE_API_BASE_URL": self.url,
            "SERVICE_SUBGRAPH_ENDPOINT": f"{self.url}/subgraph",
        }

    def approvals(self) -> list[str]:
        """Every signed request's header."""
        return [found.headers["authorization"] for found in self.server.requests if "authorization" in found.headers]

    def paths(self) -> list[str]:
        return [found.path for found in self.server.requests]

    def keep_page(self, page: bytes) -> None:
        self.pages[spec_commitment(page)] = page

    def item(self, number: int, **facts: object) -> Json:
        """A bounty as the list shows it, some of its facts others than the chain's."""
        view = self.hub.bounty(BountyId(number))
        assert view is not None
        changed = replace(self._facts(view), **facts)  # type: ignore[arg-type]
        return to_json(BountyItem(BountyId(number), changed, 0, Finality.FINALIZED, BLOCK))

    def _answer(self, request: Request) -> Reply:
        for name, (method, pattern) in ROUTES.items():
            found = re.fullmatch(pattern, request.path)
            if found is None or request.method not in method.split("|"):
                continue
            if (script := self.scripts.get(name)) is not None and (instead := script(request)) is not None:
                return instead
            answer = getattr(self, f"_{name}")(request, *found.groups())
            if not isinstance(answer, dict):
                return answer if isinstance(answer, tuple) else as_json(answer)
            lie = self.lies.get(name)
            return as_json(lie(answer) if lie else answer, 201 if method == "POST" else 200)
        return refusal(404, "route_not_found", "There is no such route.")

    def _index(self, _request: Request) -> Reply:
        return refusal(404, "route_not_found", "This twin has no index.")

    def _publish(self, request: Request) -> Json:
        page, poster = request.body, Address(parse_qs(request.query)["poster_address"][0])
        self.keep_page(page)
        challenge, roster_version = parse_challenge(page), self.hub.current_roster_version()
        protocol, guardian, recipient = self.hub.fee_policy()
        view = self.hub.roster(roster_version)
        terms = Terms(
            spec_commitment(page),
            view.guardian_roster_hash,
            challenge.escrow_amount,
            challenge.submission_deadline,
            challenge.judging_window_seconds,
            fee_amount(challenge.escrow_amount, protocol),
            fee_amount(challenge.escrow_amount, guardian),
            bytes32(keccak256(b"salt")),
        )
        token = read_token(self.rpc, self.hub.token())
        valid_before = UnixSeconds(self._time() + 3_600)
        return {
            "spec_commitment": terms.spec_commitment,
            "byte_length": len(page),
            "chain_id": self.chain_id,
            "hub_address": self.hub.address,
            "escrow_token_address": token.address,
            "poster_address": poster,
            "create_bounty": {"function_name": "createBounty", "args": [terms.to_args()]},
            "create_bounty_with_authorization": {
                "function_name": "createBountyWithAuthorization",
                "args": [terms.to_args(), poster, "0", str(valid_before), None],
            },
            "fee_policy": {
                "protocol_fee_bps": protocol,
                "guardian_fee_bps": guardian,
                "protocol_fee_recipient": recipient,
            },
            "guardian_roster": to_json(self._roster(roster_version)),
            "review": {"review_id": "1", "rubric_version": "1", "rubric_hash": "0x" + "00" * 32},
        }

    def _detail(self, request: Request, bounty_id: str) -> Json | Reply:
        view = self.hub.bounty(BountyId(int(bounty_id)))
        if view is None:
            return refusal(404, "bounty_not_found", "There is no such bounty.")
        page, withheld = self.pages.get(view.spec_commitment), self.withheld.get(view.spec_commitment)
        return to_json(
            BountyDetail(
                bounty_id=BountyId(int(bounty_id)),
                chain_id=self.chain_id,
                hub_address=self.hub.address,
                facts=self._facts(view),
                guardian_roster=self._roster(view.roster_version),
                active_submissions=(submissions := self.submissions(int(bounty_id))),
                active_submission_count=len(submissions),
                challenge=page.decode() if page and withheld is None else None,
                challenge_terms=ChallengeTerms(page is not None, ()),
                error=None if withheld is None else withheld_error("bounty_challenge_withheld", withheld),
                withheld=withheld,
                finality=Finality.FINALIZED,
                block=BLOCK,
            )
        )

    def _facts(self, view: BountyView) -> Facts:
        status = BountyStatus.OPEN if view.outcome is None else BountyStatus.FINAL
        awarded = view.outcome is Outcome.AWARDED
        return Facts(
            status=status,
            accepting=view.schedule.accepting(status, self._time()),
            judgeable=view.schedule.judgeable(status, self._time()),
            poster_address=view.poster,
            outcome=view.outcome,
            settlement_reason=view.reason,
            winner=Winner(view.winner, view.winning_submission) if awarded else None,
            **{name: getattr(view, name) for name in keys(Facts) & keys(BountyTerms)},
        )

    def _time(self) -> UnixSeconds:
        return header_at(self.rpc, "latest").time

    def _roster(self, version: int) -> Roster:
        view = self.hub.roster(version)
        members = zip(view.accounts, view.encryption_keys, view.last_active_at, strict=True)
        return Roster(
            version,
            view.guardian_roster_hash,
            view.quorum,
            tuple(RosterMember(account, key, active) for account, key, active in members),
        )

    def _list(self, _request: Request) -> Json:
        return self.listed

    def _changes(self, request: Request) -> Json:
        after = int(parse_qs(request.query)["after"][0])
        items = [each for each in self.changes if int(str(each["number"])) > after]
        return {"items": items, "next_after": items[-1]["number"] if items else after, "has_more": False}

    def _upload_url(self, request: Request, bounty_id: str, solver: str) -> Json:
        digest = Bytes32(str(request.json()["ciphertext_sha256"]))
        locator = storage_locator(self.chain_id, self.hub.address, BountyId(int(bounty_id)), Address(solver), digest)
        return {
            "upload_url": f"{self.url}/objects/{locator}",
            "upload_method": "PUT",
            "upload_headers": {"x-announced": "yes"},
            "expires_at": "2030-01-01T00:00:00Z",
            "storage_locator": locator,
        }

    def _put(self, request: Request, locator: str) -> Reply:
        if locator in self.objects:
            return 412, b"", {}
        self.objects[locator] = request.body
        return 200, b"", {}

    def _download(self, request: Request, locator: str) -> Reply:
        if (content := self.objects.get(locator)) is None:
            return 404, b"", {}
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
        if found is None or int(found[1]) >= len(content):
            return 200, content, {}
        begin, end = int(found[1]), min(int(found[2] or len(content)), len(content) - 1)
        return 206, content[begin : end + 1], {"Content-Range": f"bytes {begin}-{end}/{len(content)}"}

    def _prepare(self, request: Request, bounty_id: str, solver: str) -> Json | Reply:
        envelope = parse_envelope(request.body)
        view = self.hub.bounty(BountyId(int(bounty_id)))
        assert view is not None
        expected = ExpectedEnvelope(
            chain_id=self.chain_id,
            hub_address=self.hub.address,
            bounty_id=BountyId(int(bounty_id)),
            solver_address=Address(solver),
            spec_commitment=view.spec_commitment,
            roster=self._roster(view.roster_version),
            reveal_policy=self.ledger.beacon.info.reveal_policy(view.reveal_at),
        )
        if envelope_differences(envelope, expected):
            return refusal(400, "invalid_solver_submission", "The envelope does not fit this bounty.")
        commitment = envelope.commitment()
        self.envelopes[commitment] = request.body
        arguments = [bytes.fromhex(value[2:]) for value in (commitment, envelope.guardian_roster_hash)]
        data = self.ledger.contract.encode("submit", int(bounty_id), *arguments)
        return {
            "submission_commitment": commitment,
            "guardian_roster_hash": envelope.guardian_roster_hash,
            "transaction": {
                "chain_id": self.chain_id,
                "to": self.hub.address,
                "value": "0",
                "data": "0x" + data.hex(),
                "function_name": "submit",
                "args": [bounty_id, commitment, envelope.guardian_roster_hash],
            },
        }

    def _content(self, request: Request, bounty_id: str, commitment: str) -> Json | Reply:
        if commitment not in self.envelopes:
            return refusal(404, "submission_not_found", "There is no such Submission.")
        envelope = parse_envelope(self.envelopes[commitment])
        return {
            "envelope": self.envelopes[commitment].decode(),
            "submission_commitment": commitment,
            "solver_address": envelope.solver_address,
            "active": True,
            "download_url": f"{self.url}/objects/{envelope.ciphertext.storage_locator}",
            "expires_at": "2030-01-01T00:00:00Z",
        }

    def _verdict_write(self, request: Request, commitment: str) -> Json:
        assert report_commitment(request.body) == commitment
        self.verdicts[commitment] = request.body
        return {"report_commitment": commitment, "byte_length": len(request.body)}

    def _document(self, request: Request, commitment: str) -> Reply:
        assert "authorization" in request.headers
        return 200, self.verdicts[commitment], {"Content-Type": "text/markdown; charset=utf-8"}

    def _verdict_read(self, request: Request, commitment: str) -> Reply:
        if (withheld := self.withheld.get(commitment)) is not None:
            error = withheld_error("written_verdict_withheld", withheld)
            return refusal(451, error.code, error.message)
        if commitment not in self.verdicts:
            return refusal(404, "written_verdict_not_found", "No written Verdict with that commitment is stored here.")
        return 200, self.verdicts[commitment], {"Content-Type": "text/markdown; charset=utf-8"}

    def _delivery_key(self, request: Request) -> Json:
        return {
            "delivery_public_key": self.ledger.delivery.public_key,
            "key_id": "0" * 16,
            "algorithm": "x25519-sealed-box",
        }

    def _deployment(self, request: Request) -> Json:
        limits = HubLimits(
            min_escrow_amount=TokenAmount(self.hub.limit("minEscrow")),
            min_judging_window_seconds=self.hub.limit("minJudgingWindow"),
            max_judging_window_seconds=self.hub.limit("maxJudgingWindow"),
            min_submission_window_seconds=self.hub.limit("minSubmissionWindow"),
            max_submission_window_seconds=self.hub.limit("maxSubmissionWindow"),
            max_challenge_bytes=MAX_DOCUMENT_BYTES,
            max_ciphertext_bytes=1 << 30,
        )
        token = TokenDescription(Address(self.ledger.token.address), "tUSDC", 6)
        return to_json(
            Deployment(
                chain_id=self.chain_id,
                hub_address=self.hub.address,
                escrow_token=token,
                fee_policy=CurrentFees(*self.hub.fee_policy()),
                guardian_roster=self._roster(self.hub.current_roster_version()),
                limits=limits,
                reveal_delay_seconds=self.hub.reveal_delay(),
                block_time_seconds=1.0,
                freshness_window_seconds=300,
                beacon=self.ledger.beacon.info,
                public_host="127.0.0.1",
            )
        )

    def _wrap(self, request: Request, bounty_id: str) -> Json:
        sent = request.json()
        self.wraps[str(sent["submission_commitment"])] = str(sent["wrapped_key"])
        return {"exists": True}

    def _status(self, request: Request, bounty_id: str) -> Json:
        return {"exists": parse_qs(request.query)["submission_commitment"][0] in self.wraps}

    def _retrieve(self, request: Request, bounty_id: str) -> Json | Reply:
        view = self.hub.bounty(BountyId(int(bounty_id)))
        if view is None or view.winning_submission not in self.wraps:
            return refusal(404, "winning_solution_key_not_found", "No Guardian handed the key over yet.")
        envelope = parse_envelope(self.envelopes[view.winning_submission])
        identity = sealed_box.unwrap(
            self.wraps[view.winning_submission], [self.ledger.delivery], envelope.content_public_key
        )
        wrapped = self.rewrap(identity, Bytes32(str(request.json()["poster_ephemeral_public_key"])))
        return {
            "solver_address": view.winner,
            "submission_commitment": view.winning_submission,
            "wrapped_key": wrapped,
        }

    def rewrap(self, identity: Identity, recipient: Bytes32) -> str:
        return sealed_box.wrap(identity, recipient)

    def meta(self) -> Json:
        """What the index says of itself."""
        head, served = header_at(self.rpc, "latest"), caip_10(self.chain_id, self.hub.address)
        block = {"number": head.number, "timestamp": head.time}
        return {"index": {"block": block, "deployment": served, "has_errors": False}}

    def _subgraph(self, request: Request) -> Json:
        asked = read(dict[str, object], request.json())
        if "query Lost(" in str(asked["query"]):
            return {"data": {"submissions": self.lost}}
        if "query Active(" in str(asked["query"]):
            sought = read(dict[str, object], asked["variables"])
            active = [
                {"submission_commitment": one.submission_commitment}
                for one in self.submissions(int(str(sought["bounty"])))
                if one.solver_address == sought["solver"]
            ]
            return {"data": {"submissions": active}}
        if "query Funded(" not in str(asked["query"]):
            return {"data": self.meta() | self.subgraph}
        wanted = read(dict[str, object], asked["variables"])
        rows = [
            {
                "bounty_id": str(event.bounty_id),
                "authorization_nonce": event.authorization_nonce,
                "block_number": log.block_number,
            }
            for log, event in self._logged(BountyCreated)
            if (event.poster, event.spec_commitment) == (wanted["poster"], wanted["page"])
        ]
        return {"data": {"bounties": rows}}

    def submissions(self, bounty_id: int) -> tuple[ActiveSubmission, ...]:
        """Each Solver's last Submission, in the order of the chain."""
        latest = {
            event.solver: (log, event)
            for log, event in self._logged(SubmissionRecorded)
            if event.bounty_id == bounty_id
        }
        ordered = sorted(latest.values(), key=lambda found: (found[0].block_number, found[0].log_index))
        return tuple(
            ActiveSubmission(
                event.solver, event.submission_commitment, UnixSeconds(0), log.block_number, log.block_hash
            )
            for log, event in ordered
        )

    def _logged(self, kind: type[E]) -> list[tuple[Log, E]]:
        topic = next(topic for topic, event in hub_abi().events.items() if event.name == kind.__name__)
        wanted = {"address": self.hub.address, "fromBlock": "0x0", "toBlock": "latest", "topics": [topic]}
        found = self.rpc.call("eth_getLogs", wanted)
        assert isinstance(found, list)
        decoded = [(log, decode_log(log)) for log in map(parse_log, found)]
        return [(log, event) for log, event in decoded if isinstance(event, kind)]


def refusal(status: int, code: str, message: str, **headers: str) -> Reply:
    """The API's error envelope."""
    error = {"code": code, "message": message, "issues": [], "next_action": "Do as the message says."}
    return as_json({"error": error}, status, **headers)
