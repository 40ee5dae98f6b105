#!/bin/sh
# Gives each role the password of its secret: on an empty volume, and whenever it is called. psql reads it from the file: it
# is never an argument, and not in the log.
set -eu
for role in service_migrator service_api service_indexer service_reviewer service_delivery; do
    SECRET="/run/secrets/postgresql.$role"
    [ -s "$SECRET" ] || { echo "$SECRET is missing or empty: run make-secrets.sh" >&2; exit 1; }
    export SECRET
    psql --set ON_ERROR_STOP=1 --no-psqlrc --quiet --username "${POSTGRES_USER:-postgres}" --set role="$role" <<'SQL'
SET log_statement = 'none';
SET log_min_error_statement = 'panic';
\set password `cat "$SECRET"`
ALTER ROLE :"role" PASSWORD :'password';
SQL
done
