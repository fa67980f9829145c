"""tables/unicode/: the committed files are what their digests say and what the pinned packages give."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from generator import pin_unicode
from generator.properties import VERSIONS


def test_digests_equal_the_committed_files() -> None:
    lines = (pin_unicode.ROOM / "SHA256SUMS").read_text().splitlines()
    digests = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert list(digests) == [f"{version}.txt" for version in VERSIONS]
    assert digests == {name: hashlib.sha256((pin_unicode.ROOM / name).read_bytes()).hexdigest() for name in digests}
    assert {path.name for path in pin_unicode.ROOM.iterdir()} == {*digests, "LICENSE", "SHA256SUMS"}


def test_every_version_is_pinned_and_says_from_what() -> None:
    assert tuple(pin_unicode.SOURCES) == VERSIONS
    for version, (package, second) in pin_unicode.SOURCES.items():
        first, source = (pin_unicode.ROOM / f"{version}.txt").read_text().splitlines()[:2]
        assert first == f"# Unicode {version}"
        assert package in source and second in source


def test_check_reports_a_stale_file_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the command needs CPython 3.11")
    monkeypatch.setattr(pin_unicode, "ROOM", tmp_path / "tables" / "unicode")
    monkeypatch.setattr(pin_unicode, "pinned", lambda wheels: {"16.0.txt": "# Unicode 16.0\n[gc lu]\n0041\n"})
    assert pin_unicode.main(["--check"]) == 1
    assert not list(tmp_path.iterdir())
    assert pin_unicode.main([]) == 0
    assert pin_unicode.main(["--check"]) == 0
    path = tmp_path / "tables" / "unicode" / "16.0.txt"
    path.write_text(path.read_text().replace("0041", "0042"))
    capsys.readouterr()
    assert pin_unicode.main(["--check"]) == 1
    assert "-0042\n+0041\n" in capsys.readouterr().out
    assert [found.name for found in path.parent.iterdir()] == ["16.0.txt"]


def test_what_is_written_are_all_versions_and_their_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    committed = {path.name: path.read_text(encoding="ascii") for path in pin_unicode.ROOM.iterdir() if path.name != "LICENSE"}
    monkeypatch.setattr(pin_unicode, "one_version", lambda version, wheels: committed[f"{version}.txt"])
    assert pin_unicode.pinned() == committed


def test_a_partition_with_a_hole_or_an_overlap_is_refused() -> None:
    pin_unicode.check_partition("x", [[(0, 5), (7, 0x10FFFF)], [(6, 6)]])
    for values in ([[(0, 5)], [(7, 0x10FFFF)]], [[(0, 5)], [(5, 0x10FFFF)]], [[(0, 5)]], []):
        with pytest.raises(SystemExit):
            pin_unicode.check_partition("x", values)


@pytest.mark.parametrize("version", VERSIONS)
def test_made_again_a_file_is_byte_for_byte_the_same(version: str) -> None:
    if sys.implementation.name != "cpython" or sys.version_info[:2] != (3, 11):
        pytest.skip("the pinned wheels are for CPython 3.11")
    try:
        made = pin_unicode.one_version(version, None)
    except SystemExit as error:
        if "cannot get" not in str(error):
            raise
        pytest.skip(f"no package index: {str(error)[:200]}")
    assert made == (pin_unicode.ROOM / f"{version}.txt").read_text(encoding="ascii")
