#!/bin/sh
# Makes the passwords of the datastores and the addresses that hold them, in the folder secrets beside this file, lists
# what only you can write, and gives every file to the user that reads it (as root; otherwise it prints that this is
# missing). A file that exists is never changed: run it as often as you like.
set -eu
umask 077
cd "$(dirname "$0")"

random() { od -An -v -N24 -tx1 /dev/urandom | tr -d ' \n'; }

# write FILE, from stdin: whole or not at all.
write() {
    [ -e "$1" ] && { cat >/dev/null; return; }
    mkdir -p "$(dirname "$1")"
    cat >"$1.part"
    mv "$1.part" "$1"
}

random | write secrets/postgresql/POSTGRES_PASSWORD
for role in migrator api indexer reviewer delivery; do
    random | write "secrets/postgresql/service_$role"
done
printf 'requirepass %s\n' "$(random)" | write secrets/valkey/valkey.conf
redis=$(sed -n 's/^requirepass //p' secrets/valkey/valkey.conf)

# Which role each secret's database address is of.
for pair in migrate:migrator api:api indexer:indexer settler:indexer reviewer:reviewer delivery:delivery; do
    folder=${pair%:*} role=service_${pair#*:}
    printf 'postgresql://%s:%s@postgresql:5432/service' "$role" "$(cat "secrets/postgresql/$role")" |
        write "secrets/$folder/SERVICE_DATABASE_URL"
done
for folder in api indexer settler reviewer; do
    printf 'redis://:%s@valkey:6379/0' "$redis" | write "secrets/$folder/SERVICE_REDIS_URL"
done

# Empty unless you write the key of the review provider openai.
write secrets/reviewer/SERVICE_OPENAI_API_KEY </dev/null

for file in api/SERVICE_RPC_URLS api/SERVICE_STORAGE_CREDENTIALS indexer/SERVICE_RPC_URLS settler/SERVICE_RPC_URLS \
    settler/SERVICE_SETTLER_PRIVATE_KEY delivery/SERVICE_RPC_URLS delivery/SERVICE_DELIVERY_PRIVATE_KEYS; do
    [ -s "secrets/$file" ] || echo "to be written: secrets/$file"
done

find secrets -type f -exec chmod 0400 {} +
if [ "$(id -u)" -eq 0 ]; then
    chown -R 10001:10001 secrets
    chown -R 999:999 secrets/postgresql secrets/valkey
else
    echo "not root: the containers cannot read the files until root has run this" >&2
fi
