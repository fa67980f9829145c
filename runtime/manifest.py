"""Manifest: which outputs of a folder are complete, so that a run that was interrupted can go on.

    with Manifest.begin(folder, {"tokenizer": ..., "format": "npy"}, resume=True) as manifest:
        if not manifest.has(output, source):
            was, made = about(source), []                 # and write it, by `writing(..., names=False, stats=made)`
            manifest.add(output, was, made, documents=7, tokens=1200)

It is a file of JSON lines: what the run was asked for, then a line for each output, added when that is in place. Disks take milliseconds
for whatever is brought to them, which for small files is all of the time; so names of outputs, and then the lines of these, are brought to
the disk together, once a second and at the end. Of several runs that share the inputs out, each has a manifest of its own, and goes by those
of the others, too. Invariant: an output is skipped only if it was made by the same tokenizer and settings from a file that has not changed
since, and has not changed itself (size and time, both); a line is written when its output is on the disk. A last line that is torn counts
for nothing. Without resuming, all is made again; but ids that were asked for otherwise are not left beside: a run that would do so is refused,
and one in whose folder such a run begins meanwhile ends with an error. A run that takes the place of one with other settings has a line for each
output of that, with these ("older"), until its own is there: where it is interrupted, these are told of (`left_over`), and no later
run leaves them beside its own. Rejected: one JSON object (written again for every output); reading outputs to see whether they are right (that
takes as long as making them); one manifest for all runs (a cluster's file system may not lock); removing what is older as such a run begins (it
may be all that there is, if that comes to nothing).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO

from .outputs import MANIFEST, keep, real_path, whole_files, written

if TYPE_CHECKING:
    from types import TracebackType

    from .vocabulary import Description

__all__ = ["Manifest", "about", "fingerprint", "is_manifest", "manifest_of"]

EVERY = 1.0  # seconds: what is lost of a run that is killed, at most


class Manifest:
    """Made by `begin`; a context that closes the file."""

    def __init__(self, folder: Path, file: BinaryIO, settings: Mapping[str, Any], done: dict[str, dict[str, Any]]) -> None:
        self.folder, self.file, self.settings, self.done = folder, file, settings, done
        self.waiting: list[bytes] = []
        self.folders: set[Path] = set()
        self.settled = monotonic()

    @classmethod
    def begin(
        cls, folder: str, settings: Mapping[str, Any], *, resume: bool, part: tuple[int, int] | None = None, outputs: Iterable[str] = (),
    ) -> Manifest:  # fmt: skip
        """The manifest of a folder, or a new one; `outputs`: all that this run makes. ValueError if a run would go on that was asked for
        something else, or what such a run made would stay beside."""
        path = Path(folder, manifest_of(part))
        settings = json.loads(json.dumps(settings))
        mine = asked_for(path, settings, "leave --resume out to start again") if resume else older(path, settings)
        lines = together(done_by_others(path, settings, resume), mine)
        if not resume:
            lines = {output: line for output, line in lines.items() if "older" in line}
        refuse_mixture(path, lines if part is None else {} if resume else mine, settings, outputs)  # what is of other parts, these may still make
        with whole_files(path) as (file,):
            for line in (settings, *mine.values()):
                file.write(json.dumps(line).encode() + b"\n")
        try:
            done_by_others(path, settings, resume)  # of several that begin at once, at least one sees the other
        except ValueError:
            if not mine:
                path.unlink(missing_ok=True)
            raise
        return cls(Path(folder), open(path, "ab"), settings, lines)

    def __enter__(self) -> Manifest:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self.file:
            self.settle()

    def has(self, output: str, source: str) -> bool:
        """Whether an output of that input is complete."""
        line = self.done.get(output)
        try:
            return line is not None and line["input"] == about(source) and line["files"] == self.files(output)
        except (OSError, KeyError):
            return False

    def left_over(self, outputs: Iterable[str]) -> list[tuple[str, str]]:
        """Those of some outputs that are there, but made by a run that was asked for something else; and what that was."""
        found = [(output, self.done[output]["older"]) for output in outputs if "older" in self.done.get(output, {})]
        return [(output, difference(was, self.settings)) for output, was in found if os.path.exists(self.folder / output)]

    def add(self, output: str, was: dict[str, Any], made: list[os.stat_result], *, documents: int, tokens: int) -> None:
        """Say that an output is complete, but maybe not its name on the disk. `was`: what `about` said of its input before it was read; `made`:
        what the system said of its files before they had their names."""
        line = {"output": output, "input": was, "files": list(map(size_and_time, made)), "documents": documents, "tokens": tokens}
        self.done[output] = line
        self.waiting.append(json.dumps(line).encode() + b"\n")
        self.folders.update(Path(real_path(path)).parent for path in written(str(self.folder / output), self.settings["format"]))
        self.settle_in_time()

    def settle_in_time(self) -> None:
        """The same as `settle`, if that was not done for a second. To be called now and then while there is nothing to add."""
        if self.waiting and monotonic() - self.settled >= EVERY:
            self.settle()

    def settle(self) -> None:
        """Bring the names of outputs to the disk, and then their lines. ValueError if the manifest has become that of another run."""
        for folder in self.folders:
            keep(folder)
        self.refuse_another()
        if self.waiting:
            self.file.write(b"".join(self.waiting))
            self.file.flush()
            os.fsync(self.file.fileno())
        self.folders.clear()
        self.waiting.clear()
        self.settled = monotonic()

    def refuse_another(self) -> None:
        """One with the same settings makes the same."""
        path = Path(self.file.name)
        try:
            with open(path, "rb") as file:
                head = dict(json.loads(file.readline()))
        except (OSError, ValueError, TypeError):
            return
        if unlike := difference(head, self.settings):
            raise ValueError(
                f"{path}: a run with another {unlike} has begun in this folder meanwhile, and outputs may be of either; "
                "start both again, each with a folder of its own"
            )

    def files(self, output: str) -> list[dict[str, Any]]:
        return [size_and_time(os.stat(path)) for path in written(str(self.folder / output), self.settings["format"])]


def about(source: str) -> dict[str, Any]:
    """What tells whether an input has changed."""
    return {"path": os.path.abspath(source), **size_and_time(os.stat(source))}


def size_and_time(found: os.stat_result) -> dict[str, Any]:
    return {"size": found.st_size, "mtime_ns": found.st_mtime_ns}


def manifest_of(part: tuple[int, int] | None) -> str:
    """The name of a manifest; `part`: which of how many, from 1 on."""
    return MANIFEST if part is None else f"{Path(MANIFEST).stem}-{part[0]}-of-{part[1]}.jsonl"


def is_manifest(name: str) -> bool:
    return re.fullmatch(re.escape(Path(MANIFEST).stem) + r"(-\d+-of-\d+)?\.jsonl", name) is not None


def done_by_others(path: Path, settings: Mapping[str, Any], resume: bool) -> dict[str, dict[str, Any]]:
    """The lines of all other manifests beside one; ValueError if one of them was asked for something else."""
    otherwise = "to start again, remove it" + " and leave --resume out" * resume
    done: dict[str, dict[str, Any]] = {}
    for other in path.parent.glob(f"{Path(MANIFEST).stem}*"):
        if other.name != path.name and is_manifest(other.name):
            done = together(done, asked_for(other, settings, otherwise))
    return done


def together(some: dict[str, dict[str, Any]], more: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The lines of two manifests. What is older by one was made by the other."""
    return some | {output: line for output, line in more.items() if "older" not in line or output not in some}


def asked_for(path: Path, settings: Mapping[str, Any], otherwise: str) -> dict[str, dict[str, Any]]:
    """The lines of a manifest; ValueError if that run was asked for something else."""
    head, done = read(path, otherwise)
    if head is not None and (unlike := difference(head, settings)):
        raise ValueError(f"{path}: this run had another {unlike}; {otherwise}")
    return done


def older(path: Path, settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Lines for the outputs that a run before has made, and was asked for something else; also where another began in its place since."""
    try:
        head, done = read(path, "")
    except ValueError:  # nothing that we wrote
        return {}
    lines = {output: {"output": output, "older": line.get("older", head or {})} for output, line in done.items()}
    return {output: line for output, line in lines.items() if difference(line["older"], settings) and os.path.exists(path.parent / output)}


def refuse_mixture(path: Path, lines: Mapping[str, dict[str, Any]], settings: Mapping[str, Any], outputs: Iterable[str]) -> None:
    """A run that begins where one with other settings was makes all that that did, or there would be ids of both."""
    for output in sorted(lines.keys() - set(outputs)):
        if "older" in lines[output] and os.path.exists(path.parent / output):
            unlike = difference(lines[output]["older"], settings)
            raise ValueError(f"{path}: this run had another {unlike}, and its {output} would stay; give another folder, or remove all that it wrote")


def difference(head: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """What a run was asked for otherwise: the first such setting, and both values; nothing if it was not."""
    for name in {**settings, **head}:
        if head.get(name) != settings.get(name):
            was, now = (json.dumps(one.get(name)) for one in (head, settings))
            return f"{name} ({was}, not {now})"
    return ""


def read(path: Path, otherwise: str) -> tuple[dict[str, Any] | None, dict[str, dict[str, Any]]]:
    """What the run was asked for, None if there was none, and the lines of its outputs."""
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return None, {}
    try:
        head, *rest = [json.loads(line) for line in lines]
        return dict(head), {line["output"]: line for line in rest}
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path}: not a manifest as bitlex writes it; {otherwise}") from None


def fingerprint(description: Description) -> str:
    """SHA-256 of all that decides which ids come out, in hexadecimal digits. The digest of the file stands for its vocabulary."""
    about: Any = {
        "digest": description.digest, "family": description.family, "pre_tokenizer": description.pre_tokenizer,
        "dialect": description.dialect, "unicode": description.unicode, "added": [asdict(token) for token in description.added],
        "convention": description.convention, "normalizer": description.normalizer, "prefix_space": description.prefix_space,
        "single": description.single,
    }  # fmt: skip
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
