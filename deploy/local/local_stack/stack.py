"""The whole service on this machine: servers, contracts, people, and every process of the service.

``running_stack`` yields only when every process reports that it is ready. Whatever ends the with statement, and
whenever, every process is stopped in order (services before their servers) and the runtime directory and the
environment files are gone. A child that dies while starting raises ``ChildFailed`` with its name and last log lines;
``Stack.check`` does the same while running.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bounty_protocol.crypto.x25519 import Identity

from local_stack import anvil, beacon, gcs, postgres, valkey
from local_stack.accounts import People, make_people
from local_stack.environment import EnvironmentFiles, claim_files
from local_stack.folders import make_folders
from local_stack.hub import LocalHub, LocalHubTerms, RosterEntry, deploy_hub
from local_stack.launch import Launcher, RunningProcess
from local_stack.ports import HOST
from local_stack.runtime import Runtime, running
from local_stack.services import MIGRATE, MIGRATOR, ROLES, SERVICES, ServiceProcess

DATABASE: Final = "bounty"
_STATES_BELOW_FINALITY: Final = 50
"""Those of ten seconds: the delivery service asks about a block that the index found final some seconds ago."""


@dataclass(frozen=True, slots=True)
class StackSettings:
    """The options of a stack. ``env_file`` None writes no environment files."""

    env_file: Path | None = None
    env_file_exactly: bool = True
    terms: LocalHubTerms = field(default_factory=LocalHubTerms)
    solvers: int = 2
    guardians: int = 3
    finality_seconds: float = 2
    variables: Mapping[str, str] = field(default_factory=dict)
    """Further SERVICE_ variables for every process of the service, over the stack's own."""
    services: tuple[ServiceProcess, ...] = SERVICES
    """Which processes of the service to start; none at all leaves the database empty too."""
    programs: Mapping[str, Path] = field(default_factory=dict)
    """The paths of entry points that are not this environment's own, by their name."""
    rpc_urls: Callable[[str], Sequence[str]] = lambda node: (node,)
    """The endpoints by which the service reads the chain, given the node's."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A running stack. ``common`` is what everybody has in the environment; servers and services can be killed."""

    settings: StackSettings
    runtime: Runtime
    people: People
    hub: LocalHub
    anvil: anvil.AnvilServer
    postgres: postgres.PostgresServer
    valkey: valkey.ValkeyServer
    gcs: gcs.GcsServer
    beacon: beacon.RunningBeacon
    services: Mapping[str, RunningProcess]
    common: Mapping[str, str]
    pages_url: str | None
    """Where people look at the bounties; None in a stack without the pages."""
    files: EnvironmentFiles | None
    launcher: Launcher = field(repr=False)

    @property
    def api_base_url(self) -> str:
        """The public API."""
        return self.common["SERVICE_API_BASE_URL"]

    def environment(self, role: str) -> dict[str, str]:
        """Return the environment of ``service-cli`` as this role: the common values and only that role's keys."""
        return {**self.common, **self.people.by_name()[role].variables()}

    def all_variables(self) -> dict[str, str]:
        """Return the common values and everyone's keys; see ``People.variables`` for the names."""
        return {**self.common, **self.people.variables()}

    def check(self) -> None:
        """Raise ``ChildFailed`` when any process has ended that nobody stopped."""
        self.runtime.family.check()

    def advance(self, seconds: int) -> None:
        """Move the clocks of chain and beacon on together; processes of the service keep this machine's."""
        self.beacon.advance(seconds)
        self.anvil.rpc.call("evm_increaseTime", seconds)
        self.anvil.rpc.call("evm_mine")

    def ready_event(self) -> dict[str, object]:
        """Return the line that shows a program where everything is; no secrets."""
        return {
            "event": "stack.ready",
            "env_file": str(self.files.path) if self.files else None,
            "pages_url": self.pages_url,
            "api_base_url": self.api_base_url,
            "subgraph_endpoint": self.common["SERVICE_SUBGRAPH_ENDPOINT"],
            "rpc_url": self.anvil.url,
            "chain_id": self.anvil.chain_id,
            "hub_address": self.hub.hub.address,
            "escrow_token_address": self.hub.token.address,
            "deploy_block": self.hub.deploy_block,
            "beacon_url": self.beacon.url,
            "beacon_chain_hash": self.beacon.chain_hash,
            "beacon_public_key": self.beacon.public_key,
            "storage_endpoint": self.gcs.url,
            "postgres": f"{HOST}:{self.postgres.port}",
            "valkey": f"{HOST}:{self.valkey.port}",
            "services": {name: service.addresses() for name, service in self.services.items()},
            "accounts": {person.name: person.address for person in self.people.everyone()},
            "logs": str(self.runtime.logs),
        }


@contextmanager
def running_stack(
    settings: StackSettings | None = None,
    *,
    checkpoint: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Stack]:
    """A stack for the length of a with statement; ``say`` gets a line per step, ``checkpoint`` may raise to stop."""
    settings = settings or StackSettings()
    with running(checkpoint=checkpoint) as runtime, _claimed(settings, runtime) as files:
        yield _bring_up(settings, runtime, files, say)


@contextmanager
def _claimed(settings: StackSettings, runtime: Runtime) -> Iterator[EnvironmentFiles | None]:
    if settings.env_file is None:
        yield None
        return
    files = claim_files(settings.env_file, exactly=settings.env_file_exactly)
    for path in files.paths():
        runtime.family.remove_after_death(path)
    try:
        yield files
    finally:
        files.remove()


def _bring_up(
    settings: StackSettings, runtime: Runtime, files: EnvironmentFiles | None, say: Callable[[str], None]
) -> Stack:
    # 1. Servers, each ready before the next. The runtime owns them: leaving this statement stops nothing.
    slots = max(1, round(settings.finality_seconds / anvil.BLOCK_SECONDS / 2))
    say("starting PostgreSQL, Valkey, the EVM node, the beacon and the object storage")
    with (
        postgres.start(runtime) as database,
        valkey.start(runtime) as redis,
        anvil.start(
            runtime,
            mining="interval",
            slots_in_an_epoch=slots,
            durable=True,
            kept_states=2 * slots + _STATES_BELOW_FINALITY,
        ) as chain,
        beacon.start(runtime) as drand,
        gcs.start(runtime) as storage,
    ):
        pass

    # 2. The database's roles, and its schema by the migrator while the contracts are deployed.
    say("migrating the database; deploying the Hub and the test token")
    launcher = Launcher(runtime, settings.variables, settings.programs)
    passwords = {role: database.create_role(role) for role in (MIGRATOR, *ROLES)}
    database.create_database(DATABASE, owner=MIGRATOR)
    for role, password in passwords.items():
        launcher.databases[role] = database.url(DATABASE, user=role, password=password)
    migration = launcher.start_once(MIGRATE) if settings.services else None
    people = make_people(solvers=settings.solvers, guardians=settings.guardians)
    delivery = Identity.generate()
    hub = deploy_hub(
        chain,
        owner=people.owner.wallet,
        fee_recipient=people.fee_recipient.wallet,
        guardians=[RosterEntry(g.wallet, g.identity.public_key) for g in people.guardians if g.identity],
        delivery_public_key=delivery.public_key,
        holders=[person.wallet for person in people.everyone()],
        terms=settings.terms,
        checkpoint=runtime.family.checkpoint,
    )
    if migration is not None:
        launcher.finish(migration)

    # 3. The service, all processes at once; each reports on its internal port when it is ready.
    say(f"starting {len(settings.services)} processes of the service")
    common = _common(settings, hub, chain, drand, launcher.port("api"))
    launcher.variables |= common | {
        "SERVICE_DEPLOY_BLOCK": str(hub.deploy_block),
        "SERVICE_RPC_URLS": ",".join(settings.rpc_urls(chain.url)),
        "SERVICE_PUBLIC_HOST": f"{HOST}:{launcher.port('api')}",
        "SERVICE_DELIVERY_URL": f"http://{HOST}:{launcher.port('delivery')}",
        "SERVICE_REVIEWER_URL": f"http://{HOST}:{launcher.port('reviewer')}",
        "SERVICE_STORAGE_BUCKET": storage.bucket,
        "SERVICE_STORAGE_ENDPOINT": storage.url,
        "SERVICE_REVIEW_PROVIDER": "rules",
        "SERVICE_REVIEW_QUOTA": "1000",
        "SERVICE_BUDGET_FACTOR": "1000",  # everybody who uses the stack comes from one address
    }
    launcher.secrets |= {
        "SERVICE_REDIS_URL": redis.url(),
        "SERVICE_STORAGE_CREDENTIALS": storage.credentials_file.read_text(encoding="utf-8"),
        "SERVICE_DELIVERY_PRIVATE_KEYS": json.dumps([delivery.to_text()]),
        "SERVICE_SETTLER_PRIVATE_KEY": people.settler.wallet.private_key,
    }
    services = launcher.start_all(settings.services)
    pages = common["SERVICE_API_BASE_URL"] if "api" in services else None
    servers = (chain, database, redis, storage, drand)
    stack = Stack(settings, runtime, people, hub, *servers, services, common, pages, files, launcher)

    # 4. What people need at the shell.
    if files is not None:
        roles = {name: running.variables() for name, running in stack.services.items()}
        roles |= {person.name: stack.environment(person.name) for person in people.everyone()}
        files.write(stack.all_variables(), roles)
        make_folders(files, people.everyone())
    return stack


def _common(
    settings: StackSettings, hub: LocalHub, chain: anvil.AnvilServer, drand: beacon.RunningBeacon, api_port: int
) -> dict[str, str]:
    """Return the client's variables of the specification, and those that the local network needs beside them."""
    api = f"http://{HOST}:{api_port}"
    return {
        "SERVICE_CHAIN_ID": str(chain.chain_id),
        "SERVICE_HUB_ADDRESS": hub.hub.address,
        "SERVICE_ESCROW_TOKEN_ADDRESS": hub.token.address,
        "SERVICE_RPC_URL": chain.url,
        "SERVICE_API_BASE_URL": api,
        "SERVICE_SUBGRAPH_ENDPOINT": f"{api}/subgraph",
        "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": str(settings.terms.reveal_delay),
        "SERVICE_BEACON_URLS": drand.url,
        "SERVICE_BEACON_CHAIN_HASH": drand.chain_hash,
        "SERVICE_BEACON_PUBLIC_KEY": drand.public_key,
    }
