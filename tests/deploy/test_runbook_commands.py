"""Commands of docs/operations.md that are run as they stand there: what they print is what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

from local_stack import valkey
from redis import Redis
from rq import SimpleWorker
from rq.serializers import JSONSerializer
from service_common.jobs import QueueName, connect, open_queue

from .conftest import REPOSITORY

PAGE = (REPOSITORY / "docs/operations.md").read_text(encoding="utf-8")


def test_failed_job_shows_its_traceback(tmp_path: Path) -> None:
    section = PAGE.split("## Jobs fail")[1].split("\n## ")[0]
    commands = "".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL))
    with valkey.start() as server:
        redis = connect(server.url())
        job = open_queue(QueueName.ARTIFACTS, redis).enqueue("os.listdir", str(tmp_path / "missing"))
        _work(redis)
        secret = tmp_path / "redis-url"
        secret.write_text(server.url())
        environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "SERVICE_REDIS_URL_FILE": str(secret),
        }
        done = subprocess.run(
            ["sh", "-ec", commands], env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        redis.close()
    assert f"{job.id}: os.listdir\nTraceback" in done.stdout
    assert "FileNotFoundError" in done.stdout


def _work(redis: Redis) -> None:
    queue = open_queue(QueueName.ARTIFACTS, redis)
    SimpleWorker([queue], connection=redis, serializer=JSONSerializer).work(burst=True, logging_level="CRITICAL")
