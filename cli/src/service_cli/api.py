"""The service's API as the client calls it.

A protected request is signed again for each attempt and never sent twice; no redirect is followed. What may pass in a
moment is retried, for three minutes in all: a status of ``may_pass``, and a few times an answer that was cut or is
empty; of a protected request also 401. The caller of a route whose repetition costs something decides itself. A person
is asked to sign only when the API answers unsigned requests, and at most three times in a command. Everything else is
the API's answer, its error shown as it came. Answers are bounded in length and time and must have the shape of the
route.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Final, TypeVar
from urllib.parse import urlencode, urlsplit

import urllib3
from bounty_protocol.auth.sign import RequestToSign, approval_header
from bounty_protocol.auth.signature import recover
from bounty_protocol.auth.typed_data import SigningDomain, digest, typed_data
from bounty_protocol.chain.deployment import HUB_HEADER, caip_10
from bounty_protocol.chain.rpc import host_of, unreachable
from bounty_protocol.errors import MAX_ISSUE_MESSAGE, MAX_ISSUE_PATH, MAX_ISSUES, Issue, ServiceError
from bounty_protocol.foreign_json import read_object
from bounty_protocol.timely import AnswerRefused, HttpAnswer, TimelyHttp, is_cut, may_pass
from bounty_protocol.types import BlockNumber, BountyId
from bounty_protocol.wire.delivery import DeliveryStatus
from bounty_protocol.wire.errors import Error
from bounty_protocol.wire.reading import read
from bounty_protocol.wire.values import IndexState

from service_cli.chain.session import ChainClient
from service_cli.chain.signer import Signer
from service_cli.config.settings import Settings
from service_cli.errors import COHERENT, MALFORMED, CommandFailed, CommandRefused
from service_cli.ui.output import say
from service_cli.ui.text import printable

_TOO_LARGE: Final = 413
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:]{8}Z", re.ASCII)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def audience_of(url: str) -> str:
    """Return the URL's host, lowercased, with the port unless it is the scheme's default."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    return host if parts.port in {None, _DEFAULT_PORTS[parts.scheme]} else f"{host}:{parts.port}"


MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
PATIENCE_SECONDS: Final = 180.0
MAX_UNAUTHORIZED: Final = 3
MAX_BROKEN: Final = 3
"""How often a request is repeated whose answer was cut or is empty: another program may answer at this address."""
MAX_PROMPTS: Final = 3
"""How often a person is asked to sign a request in one command."""
_NO_INDEX: Final = {IndexState.UNAVAILABLE, IndexState.STARTING}
MAX_WAIT_SECONDS: Final = 600
"""Seconds that Retry-After may name."""
ANSWER_SECONDS: Final = 90.0
TIMEOUT: Final = urllib3.Timeout(connect=10.0, read=60.0)
READ_SECONDS: Final = 15.0
"""How long a public read waits for the next bytes: nothing is worked out for it that takes longer."""
_READY_SECONDS: Final = 3.0

T = TypeVar("T")
Repeats = Callable[[HttpAnswer | None], bool]
"""Whether a request is sent again after this answer; None is one that was cut."""


def may_repeat(answer: HttpAnswer | None) -> bool:
    """Return whether a request whose repetition costs nothing is sent again after this answer."""
    return answer is None or may_pass(answer.status) or _is_empty(answer)


def _is_empty(answer: HttpAnswer) -> bool:
    """Return whether a success brought nothing, as no route answers."""
    return 200 <= answer.status < 300 and not answer.body


class _Broken(CommandFailed):
    """The connection broke before the whole answer came."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is queried, and by which setting it was chosen; for messages."""

    name: str
    setting: str
    code: str = "api"
    host: str = ""

    @property
    def named(self) -> str:
        """Its name and host, never a path or a credential."""
        return f"{self.name} at {self.host}" if self.host else self.name

    def malformed(self, problem: str) -> CommandFailed:
        """Return the failure for an answer that does not have the route's shape; ``problem`` follows the name."""
        return CommandFailed(MALFORMED, f"{self.named}{problem}", next_action=f"Check {self.setting}.")

    def read(self, shape: type[T], value: object) -> T:
        """Read a part of its answer as the interface defines it."""
        try:
            return read(shape, value)
        except ValueError as error:
            raise self.malformed(f" gave an answer that the interface does not define: {error}.") from error


API: Final = Peer("The API", "SERVICE_API_BASE_URL")


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer."""

    status: int
    body: bytes
    peer: Peer = API

    def json(self) -> dict[str, object]:
        """Parse the body as a JSON object."""
        try:
            return read_object(self.body)
        except ValueError as error:
            raise self.peer.malformed(f" answered {self.status} without a JSON object.") from error

    def read(self, shape: type[T]) -> T:
        """Parse the body as the interface defines it."""
        return self.peer.read(shape, self.json())


class ApiClient:
    """Calls of one deployment's API.

    One that is not needed, since its answers are hints, is not waited for. ``hub`` is the Hub of
    this run (``caip_10``): an answer of an API that names another one is refused, since the same number is another
    bounty there.
    """

    def __init__(
        self,
        base_url: str,
        chain: ChainClient | None,
        peer: Peer = API,
        *,
        is_needed: bool = True,
        hub: str | None = None,
    ) -> None:
        self.base_url, self._chain, self._is_needed, self._hub = base_url, chain, is_needed, hub
        self.peer = replace(peer, host=printable(host_of(base_url), 100))
        self._ahead, self._took, self._prompts = 0, 0.0, 0
        self._used: dict[RequestToSign, set[BlockNumber]] = {}
        """The blocks that each request of this run was signed over."""
        self._http = TimelyHttp(ANSWER_SECONDS, timeout=TIMEOUT)

    def now(self) -> int:
        """Return the time by the ``Date`` of the latest answer; this machine's before there is any."""
        return int(time.time()) + self._ahead

    def get(self, path: str, query: Mapping[str, str] | None = None, *, patient: bool = True) -> Answer:
        """Send a public read; unless ``patient``, do not retry an API that is not ready."""
        return self._read(lambda: self._request("GET", path, query or {}, b"", {}, reads=True), patient)

    def query(
        self, shape: type[T], query: str, variables: Mapping[str, object], path: str = "", *, patient: bool = True
    ) -> T:
        """Ask the index in GraphQL and read its data as this shape; ``patient`` as in ``get``."""
        body, headers = (
            json.dumps({"query": query, "variables": variables}).encode(),
            {"Content-Type": "application/json"},
        )
        answer = self._read(lambda: self._request("POST", path, {}, body, headers, reads=True), patient)
        return self.peer.read(shape, answer.json().get("data"))

    def _read(self, attempt: Callable[[], HttpAnswer], patient: bool) -> Answer:
        return self._settle(attempt, may_repeat if patient and self._is_needed else lambda _: False)

    def signed(
        self,
        signer: Signer,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        media_type: str | None = None,
        summary: str,
        repeats: Repeats = may_repeat,
    ) -> Answer:
        """Send a protected request; sign it again for every attempt, each time over another block."""
        request = RequestToSign(method, path, urlencode(query or {}), body, audience_of(self.base_url))
        used, asks_person = self._used.setdefault(request, set()), _is_outside(signer)

        def attempt() -> HttpAnswer:
            if asks_person:
                self._prepare_prompt(is_repeated=bool(used))
            headers = {"Authorization": self._approve(signer, request, used, summary)}
            if media_type is not None:
                headers["Content-Type"] = media_type
            return self._request(method, path, query or {}, body, headers)

        def is_signed_again(answer: HttpAnswer | None) -> bool:
            if asks_person and self._prompts == MAX_PROMPTS:
                return False
            return repeats(answer) or (answer is not None and answer.status == 401)

        return self._settle(attempt, is_signed_again)

    def _prepare_prompt(self, *, is_repeated: bool) -> None:
        """Wait by unsigned requests until the API answers and has an index: a signature would be wasted before. Count
        the prompt; refuse more than ``MAX_PROMPTS``.
        """
        if self._prompts == MAX_PROMPTS:
            message = f"The wallet has signed {MAX_PROMPTS} requests in this run, and another one is needed."
            raise CommandFailed("signature_needed", message, next_action="Run the command again: it continues here.")
        ends = monotonic() + PATIENCE_SECONDS
        while self._index_state() in _NO_INDEX:
            if monotonic() > ends:
                message = f"{self.peer.named} has had no index for minutes. Nothing was signed."
                next_action = "Run the command again later."
                raise CommandFailed("bounty_projection_unavailable", message, next_action=next_action)
            say(f"{self.peer.name} has no index at the moment. Looking again in {_READY_SECONDS:.0f} s.")
            pause(_READY_SECONDS)
        if is_repeated:
            say("asking the wallet for another signature: each is valid for one attempt, and moves no money")
        self._prompts += 1

    def _index_state(self) -> object:
        """Return the state of the API's index; None from an API that answers without it."""
        try:
            return self.get("/api/status").json().get("state")
        except (CommandRefused, CommandFailed) as error:
            if error.code not in {"route_not_found", MALFORMED}:
                raise
            return None

    def _approve(self, signer: Signer, request: RequestToSign, used: set[BlockNumber], summary: str) -> str:
        if self._chain is None:
            raise RuntimeError("a signed request needs the chain")
        approval = self._chain.approval(request, used)
        used.add(approval.block_number)
        domain = SigningDomain(self._chain.chain_id, self._chain.hub.address)
        signature, signed = signer.sign_typed_data(typed_data(domain, approval), summary), digest(domain, approval)
        if len(signature) != 65 or recover(signed, signature) != signer.address:
            self._chain.require_own_rules(signer.address, signed, signature)
        return approval_header(signer.address, signature, approval)

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes,
        headers: Mapping[str, str],
        *,
        reads: bool = False,
    ) -> HttpAnswer:
        """Make one exchange; a request that ``reads`` waits less long for the next bytes than one that starts work."""
        url = self.base_url + path + (f"?{urlencode(query)}" if query else "")
        timeout, began = urllib3.Timeout(connect=10.0, read=READ_SECONDS) if reads else None, monotonic()
        try:
            return self._http.exchange(
                method, url, most_bytes=MAX_ANSWER_BYTES, body=body or None, headers=headers, timeout=timeout
            )
        except AnswerRefused as error:
            raise self.peer.malformed(f" gave {error}.") from error
        except urllib3.exceptions.HTTPError as error:
            code, message = f"{self.peer.code}_unreachable", f"{self.peer.named} did not answer: {unreachable(error)}."
            next_action = f"Check {self.peer.setting}, then run the command again."
            kind = _Broken if is_cut(error) else CommandFailed
            raise kind(code, message, next_action=next_action) from error
        finally:
            self._took = monotonic() - began

    def _settle(self, attempt: Callable[[], HttpAnswer], repeats: Repeats) -> Answer:
        """Return the first answer that is not to be repeated. Only the API's own time and the waits count: a wallet or
        a person may take long to sign.
        """
        refused, broken, left = 0, 0, PATIENCE_SECONDS
        while True:
            response: HttpAnswer | None = None
            try:
                response = attempt()
                self._note(response)
                if 200 <= response.status < 300 and response.body:
                    return Answer(response.status, response.body, self.peer)
                error: ServiceError = _error(response.status, response.body, self.peer)
            except _Broken as failure:
                error = failure
            refused += response is not None and response.status == 401
            broken += response is None or _is_empty(response)
            seconds = None if response is None else response.retry_after
            wait = min(seconds, MAX_WAIT_SECONDS) if seconds else 1
            is_enough = refused >= MAX_UNAUTHORIZED or broken > MAX_BROKEN or wait > left
            if is_enough or not repeats(response):
                raise error
            say(f"{error.message} Trying again in {wait} s.")
            pause(wait)
            left -= wait + self._took

    def _note(self, response: HttpAnswer) -> None:
        """Note the API's time; refuse what an API of another Hub answers, errors included. A proxy before it names
        none.
        """
        served = response.headers.get(HUB_HEADER, "")[:100]
        if self._hub is not None and served and served.lower() != self._hub:
            message = f"{self.peer.named} serves the Hub {printable(served, 100)}, but this run is for {self._hub}."
            raise CommandRefused("deployment_mismatch", message, next_action=COHERENT)
        if date := response.headers.get("Date", "")[:40]:
            with suppress(ValueError, OverflowError, TypeError, IndexError):  # a date that is none
                self._ahead = int(parsedate_to_datetime(date).timestamp()) - int(time.time())


def api_of(settings: Settings, chain: ChainClient | None = None, *, is_needed: bool = True) -> ApiClient:
    """Return the client of the deployment's API; messages name the option that chose it."""
    peer = API if settings.api_override is None else Peer(API.name, "--api-base-url")
    return ApiClient(settings.api_base_url(), chain, peer, is_needed=is_needed, hub=_hub_of(settings))


def subgraph_of(settings: Settings) -> ApiClient:
    """Return a client of the subgraph, for queries."""
    peer = Peer("The subgraph", "SERVICE_SUBGRAPH_ENDPOINT", "subgraph")
    return ApiClient(settings.subgraph_endpoint(), None, peer, hub=_hub_of(settings))


def _hub_of(settings: Settings) -> str | None:
    return caip_10(settings.chain_id, settings.hub_address()) if settings.knows("SERVICE_HUB_ADDRESS") else None


def bounty_detail(api: ApiClient, bounty_id: BountyId) -> Answer:
    """Read one bounty from the API, once."""
    return api.get(f"/api/bounties/{bounty_id}")


def is_delivered(api: ApiClient, bounty_id: str, commitment: str, *, patient: bool = True) -> bool:
    """Return whether the API says that this Submission's key was delivered; only the API knows."""
    path, query = f"/api/bounties/{bounty_id}/delivery/status", {"submission_commitment": commitment}
    answer = api.get(path, query, patient=patient)
    return answer.read(DeliveryStatus).exists


def pause(seconds: float) -> None:
    """Wait before the next attempt."""
    time.sleep(seconds)


def _error(status: int, data: bytes, peer: Peer) -> CommandRefused | CommandFailed:
    """Return the API's own error; anything else is an answer this client does not know."""
    if 200 <= status < 300:
        return peer.malformed(f" answered {status} with nothing.")
    try:
        answer = read_object(data)
        body = answer.get("error")
        if isinstance(body, dict) and _MOMENT.fullmatch(str(body.get("retry_not_before"))) is None:
            body.pop("retry_not_before", None)  # a time that is none hides no error
        error = read(Error, answer).error
    except ValueError:
        if status == _TOO_LARGE:
            message = (
                f"{peer.named} was not reached: a proxy in front of it refuses requests of this length (status 413)."
            )
            next_action = "Send less at once, or ask the operator to let the proxy accept 512 KiB."
            return CommandRefused("payload_too_large", message, next_action=next_action)
        if may_pass(status):
            message = f"{peer.named} does not answer: a proxy in front of it answers {status}."
            next_action = "Try again in a minute: it may be restarting."
            return CommandFailed(f"{peer.code}_unreachable", message, next_action=next_action)
        return peer.malformed(f" answered {status} without an error envelope: it may be another program, or a proxy.")
    issues = [
        Issue(printable(issue.path, MAX_ISSUE_PATH), printable(issue.message, MAX_ISSUE_MESSAGE))
        for issue in error.issues[:MAX_ISSUES]
    ]
    code, message, next_action = (
        printable(each, MAX_ISSUE_MESSAGE) for each in (error.code, error.message, error.next_action)
    )
    if code == "route_not_found":  # no route of the API that this client was made for
        next_action = f"Check {peer.setting}."
    kind = CommandFailed if status >= 500 or status in {401, 429} else CommandRefused
    return kind(code, message, issues=issues, next_action=next_action, retry_not_before=error.retry_not_before)


def _is_outside(signer: Signer) -> bool:
    """Return whether a person signs in a wallet."""
    from service_cli.chain.outside import ExternalSigner  # with all that sends, which no read needs

    return isinstance(signer, ExternalSigner)
