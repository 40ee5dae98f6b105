"""A job that cannot be done is parked where it is seen, and done once its cause is mended and it is put back."""

import os
import re
import subprocess
import sys
from pathlib import Path

from local_stack.valkey import ValkeyServer
from prometheus_client import CollectorRegistry
from redis import Redis
from rq import Callback, SimpleWorker
from rq.serializers import JSONSerializer
from service_common.jobs.metrics import QueueCollector
from service_common.jobs.queues import QueueName, open_queue

OPERATIONS = Path(__file__).parents[3] / "docs/operations.md"


def documented() -> str:
    """The commands of the runbook."""
    section = OPERATIONS.read_text(encoding="utf-8").split("## Jobs are parked")[1].split("\n## ")[0]
    return "".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL))


def work(redis: Redis) -> None:
    queue = open_queue(QueueName.ARTIFACTS, redis)
    SimpleWorker([queue], connection=redis, serializer=JSONSerializer).work(burst=True, logging_level="CRITICAL")


def test_poison_job__mended_and_put_back_as_the_runbook_says__is_done(
    redis: Redis, valkey_server: ValkeyServer, tmp_path: Path
) -> None:
    missing, registry = tmp_path / "missing", CollectorRegistry()
    registry.register(QueueCollector([QueueName.ARTIFACTS], redis))

    def counts() -> dict[str, float | None]:
        labels = ({"queue": "artifacts", "state": state} for state in ("waiting", "failed"))
        return {each["state"]: registry.get_sample_value("service_jobs", each) for each in labels}

    # 1. It fails, however often it is tried, and hinders no other job.
    poison = open_queue(QueueName.ARTIFACTS, redis).enqueue("os.listdir", str(missing))
    other = open_queue(QueueName.ARTIFACTS, redis).enqueue("os.listdir", str(tmp_path))
    work(redis)
    assert other.get_status(refresh=True) == "finished"
    assert counts() == {"waiting": 0, "failed": 1}
    assert "FileNotFoundError" in poison.latest_result().exc_string  # type: ignore[union-attr, operator]

    # 2. The cause is mended, and the runbook followed, which shows every queue.
    for name in set(QueueName) - {QueueName.ARTIFACTS}:
        open_queue(name, redis).enqueue("os.getcwd")
    lost = open_queue(QueueName.INDEX, redis).enqueue("os.getcwd", on_failure=Callback("builtins.print"))
    redis.zadd(open_queue(QueueName.INDEX, redis).started_job_registry.key, {f"{lost.id}:of-nobody": 1})
    missing.mkdir()
    secret = tmp_path / "redis-url"
    secret.write_text(valkey_server.url())
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "SERVICE_REDIS_URL_FILE": str(secret),
    }
    done = subprocess.run(
        ["sh", "-ec", documented()], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert set(re.findall(r"(?m)^([\w-]+) +\|", done.stdout)) == set(QueueName)
    assert "AbandonedJobError" not in done.stdout  # what a lost job names is not called
    assert counts() == {"waiting": 1, "failed": 0}
    work(redis)
    assert poison.get_status(refresh=True) == "finished"
    assert counts() == {"waiting": 0, "failed": 0}
