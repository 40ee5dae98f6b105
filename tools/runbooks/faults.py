"""The faults: how each is caused and put right, which alerts hold while it lasts, what the runbook should find."""

import secrets
import signal
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Final

import psutil
import urllib3
from bounty_protocol.domain.locator import StorageLocation
from bounty_protocol.types import ChainId, parse_address, parse_bounty_id, parse_bytes32
from eth_utils.address import to_checksum_address
from local_stack.contract import Contract
from service_api.jobs import PERIODIC
from service_common.jobs.queues import QueueName, connect, enqueue, message, open_queue

from tests.api.webhooks.receiving import certificate_for
from tests.serving import serving
from tools.runbooks.chain_faults import CHAIN_FAULTS, MOVES_THE_CLOCK
from tools.runbooks.data_faults import DATA_FAULTS
from tools.runbooks.scene import ExpectedAlert, Fault, FaultScene, nothing, standing
from tools.runbooks.watchtower_faults import WATCHTOWER_FAULTS
from tools.runbooks.work_faults import WORK_FAULTS

INSPECTION: Final = next(job for job in PERIODIC if job.function.endswith(".inspect"))


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
    silent = place.cast.fund(submission_seconds=45, judging_seconds=12, title="Forgotten")
    place.submit(silent, "solver-2")


def _drain_the_settler(place: FaultScene) -> None:
    place.stack.anvil.fund(place.stack.people.settler.address, 1_000)


def _fund_the_settler(place: FaultScene) -> None:
    place.stack.anvil.fund(place.stack.people.settler.address)


def _refuse_signatures(place: FaultScene) -> None:
    url = f"{place.stack.api_base_url}/api/bounties/{place.bounty.bounty_id}/submissions/0x{'1' * 64}/content"
    pool = urllib3.PoolManager()
    for _ in range(1_500):
        pool.request("GET", url, headers={"Authorization": "Bounty nonsense"}, retries=False, timeout=20)


def _park_a_job(place: FaultScene) -> None:
    stack = place.stack
    stack.gcs.kill()
    wanted = StorageLocation(
        ChainId(stack.anvil.chain_id),
        parse_address(stack.hub.hub.address),
        parse_bounty_id(place.bounty.bounty_id),
        parse_address(stack.people.solvers[0].address),
        parse_bytes32("0x" + secrets.token_hex(32)),
    )
    redis = connect(stack.valkey.url())
    queue = open_queue(QueueName.ARTIFACTS, redis)
    enqueue(queue, "service_api.jobs.verify_artifact", message(storage_locator=str(wanted)))
    redis.close()


def _let_a_job_be_late(place: FaultScene) -> None:
    redis = connect(place.stack.valkey.url())
    redis.set(f"ended-well:{INSPECTION.job_id}", int(time.time()) - 25 * INSPECTION.every_seconds)
    redis.close()


def _let_it_run(place: FaultScene) -> None:
    redis = connect(place.stack.valkey.url())
    redis.delete(f"lease:{INSPECTION.job_id}")
    redis.close()


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


FAULTS: tuple[Fault, ...] = (
    Fault(
        "the database hangs",
        lambda place: _signal_database(place, signal.SIGSTOP),
        lambda place: _signal_database(place, signal.SIGCONT),
        tuple(
            ExpectedAlert(alert, prints, standing('service_http_requests_total{status=~"5.."}'))
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
            ExpectedAlert(alert, prints, "max(service_index_lag_seconds) < 10")
            for alert, prints in (
                ("EndpointFails", r'service_rpc_endpoint_failures\{endpoint="[12]"\} [1-9]'),
                ("IndexBehind", "endpoint [12] has not answered since"),
                ("LagBudgetBurns", "endpoint [12] has not answered since"),
            )
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
                "PagesGetNoAnswers",
                r'service_web_api_answers_total\{outcome="failed"\} [1-9]',
                standing('service_web_api_answers_total{outcome="failed"}'),
            ),
        ),
    ),
    Fault(
        "the bucket is gone",
        lambda place: place.stack.gcs.kill(),
        lambda place: place.stack.gcs.restart(),
        (
            ExpectedAlert(
                "StorageOut", "storage_unavailable", standing('service_errors_total{code="storage_unavailable"}')
            ),
        ),
    ),
    Fault(
        "a job cannot be done",
        _park_a_job,
        lambda place: place.stack.gcs.restart(),
        (
            ExpectedAlert(
                "JobsParked", r"service_api\.jobs\.verify_artifact\nTraceback", 'max(service_jobs{state="failed"}) == 0'
            ),
        ),
        inside="api-worker",
    ),
    Fault(
        "no inspection ends well for a day",
        _let_a_job_be_late,
        _let_it_run,
        (ExpectedAlert("JobsOverdue", r"artifacts +\| 0 wait, 0 failed", "max(service_periodic_intervals) < 24"),),
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
        nothing,
        (
            ExpectedAlert(
                "SignaturesRefused",
                r'service_signature_refusals_total\{reason="malformed"\} [1-9]',
                standing('service_signature_refusals_total{reason="malformed"}'),
            ),
        ),
    ),
    Fault(
        "the front door's certificate ends tomorrow",
        _door(timedelta(days=1)),
        _door(timedelta(days=90)),
        (
            ExpectedAlert(
                "FrontDoorCertificateEnds",
                r"(?m)service_certificate_seconds \d{1,5}(\.\d+)?$",
                "service_certificate_seconds > 604800",
            ),
        ),
    ),
    *WATCHTOWER_FAULTS,
    Fault(
        "the Hub's owner sends the fees elsewhere",
        _change_the_fees,
        nothing,
        (ExpectedAlert("HubOwnerActed", 'event="FeeRecipientChanged"', "service_index_block"),),
    ),
    Fault(
        "half of the Hub's money is gone",
        _take_from_the_hub,
        _give_back,
        (
            ExpectedAlert(
                "HubInsolvent", r'service_hub_missing\{endpoint="[12]"\} [1-9]', "max(service_hub_missing) == 0"
            ),
        ),
    ),
    *CHAIN_FAULTS,
    *DATA_FAULTS,
    *WORK_FAULTS,
    MOVES_THE_CLOCK,
    Fault(
        "the chain contradicts what was final",
        _rewrite_history,
        nothing,
        (ExpectedAlert("IndexHalted", "HALTED", "max(service_index_halted) == 0"),),
    ),
)
"""In the order in which they are caused; the last one leaves another chain."""
