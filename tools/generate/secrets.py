"""docs/operations.md: the Secrets of a deployment with their keys, and the roles of its database."""

from collections.abc import Iterator, Mapping
from typing import Final

import yaml

from tools.generate.derived import TOP, part, table

_COMPONENTS: Final = TOP / "deploy/k8s/components/external-secrets"
_LISTS: Final = (
    ("secrets.yaml", ""),
    ("with-queue-scaling/secrets.yaml", "queue-scaling"),
    ("with-local-datastores/secrets.yaml", "local-datastores"),
)
"""The files that list Secrets, with the component that a deployment needs them for."""
_FORMS: Final[Mapping[tuple[str, str], str]] = {
    ("migrate", "SERVICE_DATABASE_URL"): "of `service_migrator`",
    ("settler", "SERVICE_DATABASE_URL"): "of `service_indexer`",
    ("settler", "SERVICE_SETTLER_PRIVATE_KEY"): "holds gas alone",
    ("delivery", "SERVICE_DELIVERY_PRIVATE_KEYS"): "a JSON array, newest first: [delivery.md](delivery.md)",
    ("backup", "pg_service.conf"): (
        "with a section `[backup]`: `host`, `port`, `dbname`, `user=service_backup`, `password`, `sslmode`,"
        " `sslrootcert`"
    ),
    ("restore-test", "SERVICE_BACKUP_PRIVATE_KEYS"): "a JSON array of one age identity: [Backups](#backups)",
    ("keda-redis", "address"): "`HOST:PORT`",
    ("valkey", "valkey.conf"): "with the line `requirepass PASSWORD`",
}
"""What the name of a key does not say of its value."""
_ROLES: Final = "deploy/compose/postgresql/1-roles.sql"


def _secrets() -> Iterator[str]:
    rows = [row for path, component in _LISTS for row in _rows(path, component)]
    yield table("| Secret | keys |", rows)


def _rows(path: str, component: str) -> Iterator[str]:
    for each in yaml.safe_load_all((_COMPONENTS / path).read_text(encoding="utf-8")):
        name = each["metadata"]["name"]
        keys = ", ".join(_key(name, listed["secretKey"]) for listed in each["spec"]["data"])
        yield f"| `{name}` | {keys}{f'; only with `{component}`' if component else ''} |"


def _key(secret: str, key: str) -> str:
    form = _FORMS.get((secret, key))
    return f"`{key}`" if form is None else f"`{key}` ({form})"


def _roles() -> Iterator[str]:
    lines = (TOP / _ROLES).read_text(encoding="utf-8").splitlines()
    yield "\n".join(["```sql", *(line for line in lines if not line.startswith("--")), "```"])


SECRETS_TABLE: Final = part("docs/operations.md", "secrets", _secrets)
DATABASE_ROLES: Final = part("docs/operations.md", "roles", _roles)
