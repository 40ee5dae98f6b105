"""Seal a directory for a bounty's Guardians and record it; a bar shows the progress.

python submit_work.py deployment.json 7 work/
"""

import json
import sys
from pathlib import Path

from service_cli import Client, ProgressReport, parse_bounty_id


def show(progress: ProgressReport) -> None:
    print(f"{progress.what}: {progress.done} of {progress.total} bytes", file=sys.stderr)


client = Client(json.loads(Path(sys.argv[1]).read_text()), on_progress=show)
bounty_id, directory = parse_bounty_id(sys.argv[2]), Path(sys.argv[3])
preview = client.preview_submission(bounty_id, directory)
print(f"{preview.file_count} files, {preview.byte_length} bytes; looks like secrets: {preview.secret_files}")
print("recorded:", client.submit(bounty_id, directory).submission_commitment)
