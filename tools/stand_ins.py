"""Images of PostgreSQL, Valkey and Caddy in place of the official ones, for ``tools/compose.py``.

They are built without a registry, from packages of Debian testing, under the names of ``deploy/compose/compose.yaml``;
the versions inside are Debian's. Of the official images they keep what that file relies on:

- ``postgres``: the user 999, ``PGDATA`` below the volume ``/var/lib/postgresql``, every address listened on, and an
  entry point that makes the cluster when the volume is empty: its password from ``POSTGRES_PASSWORD_FILE``, passwords
  for every address, then the files of ``/docker-entrypoint-initdb.d`` by name on a server that has a socket only;
- ``valkey/valkey``: ``valkey-server`` and ``valkey-cli`` on the path, and a volume ``/data`` that the user 999 owns;
- ``caddy``: a binary with the capability ``NET_BIND_SERVICE``, ``XDG_DATA_HOME``, and the command that reads
  ``/etc/caddy/Caddyfile``.
"""

import json
import tempfile
from pathlib import Path
from typing import Any, Final

from tools.images import WORK, buildah, debian

SUITE: Final = "forky"
PACKAGES: Final = "postgresql-18,valkey-server,caddy,ca-certificates,libcap2-bin"
_COMMON: Final = "localhost/stand-in"
_POSTGRES: Final = (
    "echo postgres:x:999:999::/var/lib/postgresql:/bin/bash >>$1/etc/passwd; echo postgres:x:999: >>$1/etc/group"
)
"""Before the packages, so that none of them takes the number."""
_LAYOUT: Final = """
rm -rf /var/lib/postgresql /var/lib/apt/lists/* /var/cache/apt
install --directory --owner=999 --group=999 --mode=1777 /var/lib/postgresql
install --directory --owner=999 --group=999 --mode=3777 /var/run/postgresql
sed -i "s/^#\\?listen_addresses.*/listen_addresses = '*'/" /usr/share/postgresql/18/postgresql.conf.sample
"""
_ENTRY_POINT: Final = """#!/bin/bash
set -Eeuo pipefail
export POSTGRES_USER="${POSTGRES_USER:-postgres}"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    PGPASSWORD=$(<"$POSTGRES_PASSWORD_FILE")
    export PGPASSWORD
    mkdir -p "$PGDATA"
    chmod 0700 "$PGDATA"
    initdb --username="$POSTGRES_USER" --pwfile=<(printf '%s\\n' "$PGPASSWORD")
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
    pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start
    run=(psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --no-password --no-psqlrc --dbname "$POSTGRES_USER")
    for file in /docker-entrypoint-initdb.d/*; do
        case "$file" in
            *.sh) "$file" ;;
            *.sql) "${run[@]}" -f "$file" ;;
        esac
    done
    pg_ctl -D "$PGDATA" -m fast -w stop
    unset PGPASSWORD
fi
case "$1" in -*) set -- postgres "$@" ;; esac
exec "$@"
"""
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/postgresql/18/bin"
_DETAILS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "postgresql": (
        "true",
        (
            *("--env", "PGDATA=/var/lib/postgresql/18/docker", "--env", f"PATH={_PATH}", "--env", "LANG=C.UTF-8"),
            *("--volume", "/var/lib/postgresql", "--stop-signal", "SIGINT"),
            *("--entrypoint", '["docker-entrypoint.sh"]', "--cmd", "postgres"),
        ),
    ),
    "valkey": (
        "install --directory --owner=999 --group=999 /data",
        ("--volume", "/data", "--workingdir", "/data", "--cmd", "valkey-server"),
    ),
    "caddy": (
        "mkdir --parents /config /data; setcap cap_net_bind_service=+ep /usr/bin/caddy",
        (
            *("--env", "XDG_CONFIG_HOME=/config", "--env", "XDG_DATA_HOME=/data"),
            *("--cmd", "caddy run --config /etc/caddy/Caddyfile --adapter caddyfile"),
        ),
    ),
}
"""A service of ``compose.yaml``: what is done in its image, and the image's configuration."""


def make_stand_ins(services: dict[str, Any]) -> list[str]:
    """Build the images that ``compose.yaml``'s ``services`` name; their names. What was built before is kept."""
    names = {service: str(services[service]["image"]) for service in _DETAILS}
    stamp, wanted = WORK / "stand-ins", json.dumps([SUITE, PACKAGES, _POSTGRES, _LAYOUT, _ENTRY_POINT, _DETAILS, names])
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        _make_common()
        for service, (script, configuration) in _DETAILS.items():
            working = buildah("from", "--pull-never", _COMMON)
            buildah("run", "--isolation", "chroot", working, "--", "sh", "-ec", script)
            buildah("config", *configuration, working)
            buildah("commit", "--quiet", "--rm", working, full_name(names[service]))
        stamp.write_text(wanted, encoding="utf-8")
    return list(names.values())


def full_name(image: str) -> str:
    """Return an image's name with the registry that engines take it from where none is named."""
    return f"docker.io/{image}" if "/" in image else f"docker.io/library/{image}"


def _make_common() -> None:
    """One root with all three, so that the archive is asked once."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        archive, entry_point = Path(folder, "root.tar"), Path(folder, "docker-entrypoint.sh")
        debian(SUITE, PACKAGES, archive, hooks=[f"--essential-hook={_POSTGRES}"])
        entry_point.write_text(_ENTRY_POINT, encoding="utf-8")
        working = buildah("from", "scratch")
        buildah("add", "--quiet", working, str(archive), "/")
        buildah("copy", "--quiet", "--chmod", "755", working, str(entry_point), "/usr/local/bin/")
        buildah("run", "--isolation", "chroot", working, "--", "sh", "-ec", _LAYOUT)
        buildah("commit", "--quiet", "--rm", working, _COMMON)
