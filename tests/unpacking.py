"""Taking files out of a tar archive, the same on every Python: ``extractall`` takes a filter only since 3.11.4, warns
without one from 3.12 on, and has another default from 3.14 on.
"""

import shutil
import tarfile
from pathlib import Path, PurePosixPath


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the archive's files below ``folder``; ``ValueError`` for a link, a device or a name that leads outside."""
    for member in archive:
        name = PurePosixPath(member.name)
        if name.is_absolute() or ".." in name.parts or not (member.isfile() or member.isdir()):
            raise ValueError(f"{member.name} is no plain file or folder inside the archive")
        target = folder / name
        if member.isdir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        content = archive.extractfile(member)
        assert content is not None
        with content, target.open("xb") as file:
            shutil.copyfileobj(content, file)
        target.chmod(0o755 if member.mode & 0o100 else 0o644)
