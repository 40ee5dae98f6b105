"""The faults: how each is caused and put right, which alerts hold while it lasts, what the runbook should find."""

import json
import secrets
import signal
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

import psutil
import urllib3
from demo.bounty import Cast, Funded, Submitted
from eth_utils.address import to_checksum_address
from local_stack.contract import Contract, Wallet
from local_stack.stack import Stack
from service_cli.library import sign_request
from service_common.jobs.queues import QueueName, connect, open_queue

from tests.api.webhooks.receiving import certificate_for
from tests.serving import serving

ALERT_SECONDS = 240.0
"""How long an expression is waited for, and its end."""


@dataclass(frozen=True, slots=True)
class ExpectedAlert:
    """One alert of a fault: what the first commands have to print, and the expression that says that it is over."""

    alert: str
    prints: str
    over: str


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong."""

    words: str
    cause: Callable[["FaultScene"], None]
    repair: Callable[["FaultScene"], None]
    alerts: tuple[ExpectedAlert, ...]
    inside: str | None = None
    """The process in whose pod the runbook is typed."""


@dataclass
class FaultScene:
    """A stack with one bounty, the people at it, and requests that go on all the time."""

    cast: Cast
    folder: Path
    bounty: Funded
    submitted: Submitted
    left: ExitStack
    kept: dict[str, str] = field(default_factory=dict)

    @property
    def stack(self) -> Stack:
        return self.cast.stack

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Somebody reads pages and the API, and asks for an upload, several times a second."""
        ended = threading.Event()

        def keep(ask: Callable[[], object]) -> None:
            while not ended.wait(0.3):
                with suppress(Exception):  # that it fails is what is looked at
                    ask()

        one = f"{self.stack.api_base_url}/api/bounties/{self.bounty.bounty_id}"
        asks: tuple[Callable[[], object], ...] = (
            lambda: urllib3.request("GET", one, retries=False, timeout=20),
            lambda: urllib3.request("GET", self.cast.page_address(self.bounty), retries=False, timeout=20),
            self._ask_for_an_upload,
        )
        threads = [threading.Thread(target=keep, args=(ask,), daemon=True) for ask in asks]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join(30)

    def _ask_for_an_upload(self) -> None:
        wallet = self.stack.people.solvers[1].wallet
        path = f"/api/bounties/{self.bounty.bounty_id}/submissions/{wallet.address}/artifact-upload-url"
        body = json.dumps({"ciphertext_sha256": "0x" + "11" * 32, "ciphertext_byte_length": 1_000}).encode()
        headers = sign_request(
            "POST", self.stack.api_base_url + path, body, rpc_url=self.stack.anvil.url,
            hub_address=self.stack.hub.hub.address, private_key=_key(wallet),
        )  # fmt: skip
        urllib3.request(
            "POST", self.stack.api_base_url + path, body=body, retries=False, timeout=20,
            headers={**headers, "Content-Type": "application/json"},
        )  # fmt: skip


def _key(wallet: Wallet) -> bytes:
    return bytes.fromhex(wallet.private_key.removeprefix("0x"))


def _signal_database(place: FaultScene, number: signal.Signals) -> None:
    child = place.stack.postgres.child
    if child is not None:
        process = psutil.Process(child.pid)
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                each.send_signal(number)


def _kill(*names: str) -> Callable[[FaultScene], None]:
    def cause(place: FaultScene) -> None:
        for name in names:
            place.stack.services[name].kill()

    return cause


def _start(*names: str) -> Callable[[FaultScene], None]:
    def repair(place: FaultScene) -> None:
        for name in names:
            place.stack.services[name].restart()

    return repair


def _forget_a_bounty(place: FaultScene) -> None:
    place.stack.services["settler"].kill()
    silent = place.cast.fund(submission_seconds=12, judging_seconds=10, title="Forgotten")
    place.cast.submit(silent, "solver-2")


def _drain_the_settler(place: FaultScene) -> None:
    place.stack.anvil.fund(place.stack.people.settler.address, 1_000)


def _fund_the_settler(place: FaultScene) -> None:
    place.stack.anvil.fund(place.stack.people.settler.address)


def _refuse_signatures(place: FaultScene) -> None:
    path = f"{place.stack.api_base_url}/api/bounties/{place.bounty.bounty_id}/submissions"
    url = f"{path}/{place.submitted.commitment}/content"
    pool = urllib3.PoolManager()
    for _ in range(1_500):
        pool.request("GET", url, headers={"Authorization": "Bounty nonsense"}, retries=False, timeout=20)


def _park_a_job(place: FaultScene) -> None:
    place.kept["missing"] = str(place.folder / f"missing-{secrets.token_hex(4)}")
    redis = connect(place.stack.valkey.url())
    open_queue(QueueName.ARTIFACTS, redis).enqueue("os.listdir", place.kept["missing"])
    redis.close()


def _mend_the_job(place: FaultScene) -> None:
    Path(place.kept["missing"]).mkdir()


def _change_the_fees(place: FaultScene) -> None:
    stack = place.stack
    recipient = stack.people.owner.address
    stack.hub.hub.transact(stack.people.owner.wallet, "setFeePolicy", 100, 300, recipient)


def _take_from_the_hub(place: FaultScene) -> None:
    stack, anvil = place.stack, place.stack.anvil
    hub, thief = to_checksum_address(stack.hub.hub.address), to_checksum_address(stack.people.owner.address)
    held = place.cast.token_balance(hub)
    place.kept["taken"] = str(held // 2)
    anvil.fund(hub)
    anvil.rpc.call("anvil_impersonateAccount", hub)
    _transfer(stack.hub.token, anvil.rpc.call, hub, thief, held // 2)
    anvil.rpc.call("anvil_stopImpersonatingAccount", hub)


def _transfer(token: Contract, call: Callable[..., object], sender: str, receiver: str, amount: int) -> None:
    data = "0xa9059cbb" + receiver.removeprefix("0x").lower().rjust(64, "0") + f"{amount:064x}"
    call("eth_sendTransaction", {"from": sender, "to": token.address, "data": data, "gas": hex(200_000)})
    call("anvil_mine", "0x1")


def _give_back(place: FaultScene) -> None:
    stack = place.stack
    stack.hub.token.transact(stack.people.owner.wallet, "transfer", stack.hub.hub.address, int(place.kept["taken"]))


class _Door(ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up after the handshake is what is meant."""


class _Greeted(StreamRequestHandler):
    def handle(self) -> None:
        """Nothing: the handshake is all that is asked for."""


def _door(lasts: timedelta) -> Callable[[FaultScene], None]:
    def open_it(place: FaultScene) -> None:
        context: ssl.SSLContext
        context, _ = certificate_for("localhost", place.folder, lasts)
        server = _Door(("127.0.0.1", 0), _Greeted)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        place.left.enter_context(serving(server))
        worker = place.stack.services["api-worker"]
        worker.stop()
        worker.restart({"SERVICE_PUBLIC_HOST": f"127.0.0.1:{server.server_address[1]}"})

    return open_it


def _rewrite_history(place: FaultScene) -> None:
    """Below finality, which is two blocks behind the tip on this node."""
    place.stack.anvil.rpc.call("anvil_reorg", 8, [])


def _nothing(_: FaultScene) -> None:
    """What the runbook's own commands do."""


def _standing(series: str) -> str:
    """An expression that holds once a counter has stood still for a quarter of a minute."""
    return f"sum(increase({series}[15s])) == 0"


FAULTS: tuple[Fault, ...] = (
    Fault(
        "the database hangs",
        lambda place: _signal_database(place, signal.SIGSTOP),
        lambda place: _signal_database(place, signal.SIGCONT),
        tuple(
            ExpectedAlert(alert, prints, _standing('service_http_requests_total{status=~"5.."}'))
            for alert, prints in (
                ("DependencyAway", r'"failing": ?\[[^]]*database'),
                ("ErrorsAnswered", "bounty_projection_unavailable"),
                ("ErrorBudgetBurns", "bounty_projection_unavailable"),
                ("ErrorBudgetLeaks", "bounty_projection_unavailable"),
                ("LatencyBudgetBurns", r'"failing": ?\[[^]]*database'),
                ("AnswersSlow", r'"failing": ?\[[^]]*database'),
            )
        ),
    ),
    Fault(
        "the RPC endpoint is gone",
        lambda place: place.stack.anvil.stop(),
        lambda place: place.stack.anvil.restart(),
        tuple(
            ExpectedAlert(alert, "endpoint", "max(service_index_lag_seconds) < 10")
            for alert in ("EndpointFails", "IndexBehind", "LagBudgetBurns")
        ),
    ),
    Fault(
        "no process of the index is there",
        _kill("indexer-worker", "settler"),
        _start("indexer-worker", "settler"),
        (ExpectedAlert("IndexSilent", "no pod of indexer-worker", "service_index_block"),),
    ),
    Fault(
        "the api is gone",
        _kill("api"),
        _start("api"),
        (
            ExpectedAlert(
                "PagesGetNoAnswers", 'outcome="failed"', _standing('service_web_api_answers_total{outcome="failed"}')
            ),
        ),
    ),
    Fault(
        "the bucket is gone",
        lambda place: place.stack.gcs.kill(),
        lambda place: place.stack.gcs.restart(),
        (
            ExpectedAlert(
                "StorageOut", "storage_unavailable", _standing('service_errors_total{code="storage_unavailable"}')
            ),
        ),
    ),
    Fault(
        "a job cannot be done",
        _park_a_job,
        _mend_the_job,
        (ExpectedAlert("JobsParked", "FileNotFoundError", 'max(service_jobs{state="failed"}) == 0'),),
        inside="api-worker",
    ),
    Fault(
        "no settler while a bounty's time runs out",
        _forget_a_bounty,
        _start("settler"),
        (ExpectedAlert("SettlementsOverdue", "no pod of settler", 'max(service_bounties{state="overdue"}) == 0'),),
    ),
    Fault(
        "the settler's key is empty",
        _drain_the_settler,
        _fund_the_settler,
        (ExpectedAlert("SettlerPoor", r"service_settler_affordable 0", "max(service_settler_affordable) > 20"),),
    ),
    Fault(
        "1,500 requests with a signature that is none",
        _refuse_signatures,
        _nothing,
        (
            ExpectedAlert(
                "SignaturesRefused",
                'reason="malformed"',
                _standing('service_signature_refusals_total{reason="malformed"}'),
            ),
        ),
    ),
    Fault(
        "the front door's certificate ends tomorrow",
        _door(timedelta(days=1)),
        _door(timedelta(days=90)),
        (
            ExpectedAlert(
                "FrontDoorCertificateEnds", "service_certificate_seconds", "service_certificate_seconds > 604800"
            ),
        ),
    ),
    Fault(
        "the Hub's owner sends the fees elsewhere",
        _change_the_fees,
        _nothing,
        (ExpectedAlert("HubOwnerActed", 'event="FeeRecipientChanged"', "service_index_block"),),
    ),
    Fault(
        "half of the Hub's money is gone",
        _take_from_the_hub,
        _give_back,
        (ExpectedAlert("HubInsolvent", "service_hub_missing", "max(service_hub_missing) == 0"),),
    ),
    Fault(
        "the chain contradicts what was final",
        _rewrite_history,
        _nothing,
        (ExpectedAlert("IndexHalted", "HALTED", "max(service_index_halted) == 0"),),
    ),
)
"""In the order in which they are caused; the last one leaves another chain."""
