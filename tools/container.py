"""Run one image as its pod does: an ordinary user, nothing writable but /tmp, no capability, process 1.

    python tools/container.py FOLDER ARGUMENT...

FOLDER holds what ``tools/images.py`` prepared: ``root``, where the image is mounted, and ``image.json``, its
configuration. The environment is this program's own, as a pod's is the manifest's; secrets in files are copied for the
container's user, as a secret's volume is. The container shares this machine's network. Becomes the OCI runtime, which
passes signals on and ends with the container's exit code. Needs root.
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final, NoReturn

RUNTIMES: Final = ("runc", "crun")
_OF_THE_MACHINE: Final = ("PATH", "HOME", "TMPDIR", "PWD", "OLDPWD")
"""Variables of whoever starts this, which mean nothing inside."""


def main() -> NoReturn:
    """Become the container."""
    program = runtime()
    if program is None:
        sys.exit(f"none of {', '.join(RUNTIMES)} is installed")
    folder, arguments = Path(sys.argv[1]), sys.argv[2:]
    bundle = Path(tempfile.mkdtemp(prefix="bundle-", dir=folder))
    specification = container(folder, arguments, dict(os.environ), bundle)
    (bundle / "config.json").touch(mode=0o600)
    (bundle / "config.json").write_text(json.dumps(specification), encoding="utf-8")
    state = folder / "runtime"
    os.execv(program, [program, "--root", str(state), "run", "--bundle", str(bundle), bundle.name])  # noqa: S606


def runtime() -> str | None:
    """Return the OCI runtime of this machine."""
    return next(filter(None, map(shutil.which, RUNTIMES)), None)


def container(folder: Path, arguments: list[str], variables: dict[str, str], bundle: Path) -> dict[str, object]:
    """Return the OCI runtime specification of one container."""
    image = json.loads((folder / "image.json").read_text(encoding="utf-8"))
    uid, gid = (int(each) for each in image["User"].split(":"))
    scratch = bundle / "tmp"
    scratch.mkdir()
    of_image = dict(each.split("=", 1) for each in image["Env"])
    passed = {name: value for name, value in variables.items() if name not in _OF_THE_MACHINE}
    for name, value in passed.items():
        if name.startswith("SERVICE_") and name.endswith("_FILE"):
            passed[name] = f"/tmp/{name}"  # noqa: S108  # the container's own
            shutil.copy(value, scratch / name)
            (scratch / name).chmod(0o400)
    if "PROMETHEUS_MULTIPROC_DIR" in passed:
        passed["PROMETHEUS_MULTIPROC_DIR"] = "/tmp/metrics"  # noqa: S108
        (scratch / "metrics").mkdir()
    for each in (scratch, *scratch.iterdir()):
        os.chown(each, uid, gid)
    nothing: list[str] = []
    return {
        "ociVersion": "1.0.2",
        "hostname": "container",
        "root": {"path": str((folder / "root").resolve()), "readonly": True},
        "process": {
            "args": [*(image["Entrypoint"] or []), *arguments],
            "env": [f"{name}={value}" for name, value in {**of_image, **passed}.items()],
            "cwd": image["WorkingDir"],
            "user": {"uid": uid, "gid": gid},
            "capabilities": dict.fromkeys(("bounding", "effective", "permitted", "inheritable", "ambient"), nothing),
            "noNewPrivileges": True,
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            {"destination": "/tmp", "type": "bind", "source": str(scratch), "options": ["bind", "rw", "nosuid"]},  # noqa: S108
            *(
                {"destination": file, "type": "bind", "source": file, "options": ["bind", "ro"]}
                for file in ("/etc/hosts", "/etc/resolv.conf")
            ),
        ],
        "linux": {"namespaces": [{"type": each} for each in ("pid", "ipc", "uts", "mount")]},
    }


if __name__ == "__main__":
    main()
