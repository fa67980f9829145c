"""Fetch what others publish to test tokenizers with: vectors of gpt-tokenizer and llama.cpp, Mistral's tekken.json, the text of minbpe's tests.

    python -m tests.fetch_vectors                    (or: make vectors)

In: three packages, by name and version, through npm and pip as they are set up here, and a file of github.com/karpathy/minbpe (MIT
license, Copyright (c) 2024 Andrej), at a commit; what has another SHA-256 than the one
below is not opened. Out: in build/vectors, or the folder that BITLEX_VECTORS names, the members that tests read (107 MB); what is there
already stays. They are not ours, and large, so they are not committed. Rejected: the latest state of a repository, which moves.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # so that files here find each other by bare names, as they do under pytest
from originals import VECTORS

PIP = (sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps")


@dataclass(frozen=True)
class Package:
    """`command` leaves an archive in the current folder; its members like `members` go to the folder `name`."""

    name: str
    command: tuple[str, ...]
    digest: str
    members: str


MINBPE = "https://raw.githubusercontent.com/karpathy/minbpe/1acefe89412b20245db5a22d2a02001e547dc602/tests/taylorswift.txt"
PACKAGES = (
    Package(
        "gpt-tokenizer", ("npm", "pack", "--silent", "gpt-tokenizer@4.0.0"),
        "e50075c9a98389fbe59bf6b42d8d50b49c1cbd7aec6c205bfc28847ee0eeb20a", "package/data/TestPlans.txt",
    ),
    Package(
        "llama.cpp", (*PIP, "--no-binary", "llama-cpp-python", "llama-cpp-python==0.3.36"),
        "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e", "*/vendor/llama.cpp/models/ggml-vocab-*",
    ),
    Package(
        "tekken", (*PIP, "mistral-common==1.13.1"),
        "98b4d0755b8d90bf4691fa8f1b70cb3b4a8cd4dc1653c4ed08ef3d1c7d2c29af", "mistral_common/data/tekken_*.json",
    ),
    Package("minbpe", ("curl", "-fsSLO", MINBPE), "c2e39cb822d4ae0caac22152cefc306d466e31217a9c5524e493ad2b76792f57", "taylorswift.txt"),
)  # fmt: skip


def contents(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files of an archive."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed:
            yield from ((name, packed.read(name)) for name in packed.namelist())
        return
    if archive.suffix == ".txt":
        yield archive.name, archive.read_bytes()
        return
    with tarfile.open(archive) as unpacked:
        for member in unpacked:
            file = unpacked.extractfile(member)
            if file is not None:
                yield member.name, file.read()


def fetch(package: Package, folder: Path) -> str:
    """Fetch one into `folder`, which then is there whole or not at all; what was done, in words."""
    if folder.exists():
        return f"{folder} is there"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        if shutil.which(package.command[0]) is None:
            raise OSError(f"{package.command[0]} is not installed")
        done = subprocess.run(package.command, cwd=place, check=False, capture_output=True, text=True)
        archives = list(Path(place).iterdir())
        if done.returncode or len(archives) != 1:
            raise OSError(f"{' '.join(package.command)} failed: {done.stderr.strip()[-300:]}")
        found = hashlib.sha256(archives[0].read_bytes()).hexdigest()
        if found != package.digest:
            raise OSError(f"{archives[0].name} has the SHA-256 {found}, not {package.digest}")
        made = Path(place) / "members"
        made.mkdir()
        for name, content in contents(archives[0]):
            if fnmatchcase(name, package.members):
                (made / name.rpartition("/")[2]).write_bytes(content)
        made.rename(folder)
    return f"{folder}: {len(list(folder.iterdir()))} files"


def main() -> int:
    missing = 0
    for package in PACKAGES:
        try:
            print(fetch(package, VECTORS / package.name))
        except OSError as error:
            missing += 1
            print(f"not to be had here: {package.name}: {error}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
