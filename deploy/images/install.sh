#!/bin/sh
# Makes the environment of one service: what its image holds, and nothing else.
#
#     install.sh SERVICE PREFIX       SERVICE is api, indexer, reviewer, delivery or web
#
# Run from the top of the repository with uv and Python 3.11 or newer on the path. Packages come as wheels with the
# hashes of requirements/images, our own are built here without an index. Dockerfiles and tests run this same file.
set -eu
service=$1
prefix=$2
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

uv venv --quiet --python "${PYTHON:-python3}" "$prefix"
uv pip sync --quiet --python "$prefix/bin/python" --require-hashes --no-build "requirements/images/$service.txt"

uv venv --quiet --python "${PYTHON:-python3}" "$built/venv"
uv pip sync --quiet --python "$built/venv/bin/python" --require-hashes --no-build requirements/images/build.txt
for package in libs/service_common "services/$service"; do
    (cd "$package" && "$built/venv/bin/python" -m hatchling build --target wheel --directory "$built/dist" >/dev/null)
done
uv pip install --quiet --python "$prefix/bin/python" --no-deps --no-index "$built"/dist/*.whl
