#!/bin/sh
# Makes the environment of one service: what its image holds, and nothing else.
#
#     install.sh FOLDER PREFIX        FOLDER is services/api, services/indexer and so on, clients/audit or clients/mcp
#
# Run from the top of the repository with uv and Python 3.11 or newer on the path. Packages come as wheels with the
# hashes of requirements/images, our own are built here without an index. The same sources make the same bytes, in the
# same PREFIX by the same Python. The Dockerfile and the tests run this same file.
set -eu
folder=$1
service=${folder##*/}
prefix=$2
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

uv venv --quiet --python "${PYTHON:-python3}" "$prefix"
uv pip sync --quiet --python "$prefix/bin/python" --require-hashes --no-build "requirements/images/$service.txt"

uv venv --quiet --python "${PYTHON:-python3}" "$built/venv"
uv pip sync --quiet --python "$built/venv/bin/python" --require-hashes --no-build requirements/images/build.txt
# What is below clients carries its own copy of what it uses.
case $folder in clients/*) libraries= ;; *) libraries="libs/bounty_protocol libs/service_common" ;; esac
for package in $libraries "$folder"; do
    (cd "$package" && "$built/venv/bin/python" -m hatchling build --target wheel --directory "$built/dist" >/dev/null)
done
uv pip install --quiet --python "$prefix/bin/python" --no-deps --no-index "$built"/dist/*.whl
# One entry point for the one Dockerfile.
ln -s "service-$service" "$prefix/bin/service"

# uv notes the folder and the moment of the build beside a package that was built: that is no part of it.
find "$prefix/lib" -path '*.dist-info/*' \( -name direct_url.json -o -name uv_cache.json \) -delete
find "$prefix/lib" -path '*.dist-info/RECORD' -exec sed -i '/\/direct_url\.json,/d; /\/uv_cache\.json,/d' {} +
# Several packages of web3's family bring their documentation as a package "docs": the last one that was written won.
rm -rf "$prefix"/lib/python*/site-packages/docs "$prefix"/lib/python*/site-packages/newsfragments
# Bytecode is made once, here: a process that cannot write it takes twice as long to start. It is not compared with the
# age of the sources, which nobody changes, so that it is the same in each build.
PYTHONHASHSEED=0 "$prefix/bin/python" -m compileall -q --invalidation-mode unchecked-hash "$prefix/lib"
