"""The pinned Unicode data as the generator reads it, against counts measured in the engines and against two other sources."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from types import ModuleType

import pytest

from generator.codeset import ALL, EMPTY, CodeSet
from generator.properties import DEFAULT_VERSION, VERSIONS, Properties, load, special_class

# Measured through the engines themselves: \p{L}, \p{N}, \p{P}, \p{Han}.
COUNTS = {
    "14.0": (131756, 1791, 819, 94215),
    "15.0": (136104, 1831, 842, 98408),
    "15.1": (136726, 1831, 842, 99030),
    "16.0": (141028, 1911, 855, 99030),
    "17.0": (145672, 1924, 856, 103351),
    "18.0": (158172, 2247, 860, 103352),
}
SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"


@pytest.fixture(params=VERSIONS)
def properties(request: pytest.FixtureRequest) -> Properties:
    return load(request.param)


def known(properties: Properties, name: str) -> CodeSet:
    found = properties.property(name)
    assert found is not None, name
    return found


def test_counts(properties: Properties) -> None:
    assert tuple(len(known(properties, name)) for name in ("L", "N", "P", "Han")) == COUNTS[properties.version]


def test_white_space_is_the_same_25_everywhere(properties: Properties) -> None:
    assert known(properties, "White_Space") == known(properties, "space") == CodeSet.of(*SPACE)
    assert known(properties, "Join_Control") == CodeSet.of(0x200C, 0x200D)


def test_categories_partition_all_code_points(properties: Properties) -> None:
    letters = [known(properties, name) for name in "LMNPSZC"]
    assert sum(map(len, letters)) == 0x110000
    assert ~known(properties, "Assigned") == known(properties, "Cn")
    assert known(properties, "Cs") == CodeSet([(0xD800, 0xDFFF)])
    assert known(properties, "LC") == known(properties, "Lu") | known(properties, "Ll") | known(properties, "Lt")


def test_code_points_that_changed_category() -> None:
    old, new = load("16.0"), load("18.0")
    assert 0x0295 in known(old, "Ll") and 0x0295 in known(new, "Lo")
    assert 0x1171E in known(load("15.1"), "Mn") and 0x1171E in known(old, "Mc")
    # The digits of Hugging Face's Digits step, which has Unicode 17, that the Unicode 16 of its own regexes does not know.
    assert known(load("17.0"), "N") - known(old, "N") == CodeSet([(0x11DE0, 0x11DE9), (0x16FF4, 0x16FF6)])


def test_han_is_the_script_without_its_extensions() -> None:
    han = known(load("16.0"), "Han")
    assert all(c in han for c in (0x3005, 0x3007, 0x3021, 0x303B, 0x16FF0))
    assert all(c not in han for c in (0x3001, 0x3006, 0x30FB))
    assert known(load("16.0"), "Katakana_Or_Hiragana") == EMPTY


@pytest.mark.parametrize(
    "names",
    [
        ("L", "Letter", "letter", "gc=L", "General_Category = Letter"),
        ("Lu", "lu", "Uppercase_Letter", "uppercase letter", "UPPERCASE-LETTER", "gc=Lu", "General_Category=Uppercase_Letter"),
        ("Han", "Hani", "sc=Han", "Script=Hani", "script=han"),
        ("Old_Italic", "Ital", "olditalic"),
        ("P", "Punct", "Punctuation"),
        ("Nd", "Decimal_Number", "digit"),
        ("Alphabetic", "Alpha"),
    ],
)
def test_names_match_loosely(names: tuple[str, ...]) -> None:
    assert len({known(load(), name) for name in names}) == 1


def test_constant_properties() -> None:
    assert known(load(), "Any") == ALL
    assert known(load(), "ASCII") == CodeSet([(0, 127)])


@pytest.mark.parametrize("name", ["", "=", "fold", "Hann", "gc=Han", "sc=Lu", "block=Han", "Han=Han", "gc=", "l u x", "S\u212a", "sc=\u212aatakana"])
def test_unknown_names_give_none(name: str) -> None:
    assert load().property(name) is None


def test_unknown_version_names_the_versions_there_are() -> None:
    assert DEFAULT_VERSION in VERSIONS
    with pytest.raises(ValueError, match=r"no tables for Unicode '13\.0'; there are 14\.0, 15\.0, .*18\.0"):
        load("13.0")
    with pytest.raises(ValueError, match="does not hold Unicode 15"):
        Properties("15.0", "# Unicode 16.0\n")


def categories(database: ModuleType) -> dict[str, CodeSet]:
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for code_point in range(0x110000):
        found[database.category(chr(code_point))].append((code_point, code_point))
    return {name: CodeSet(pairs) for name, pairs in found.items()}


def test_categories_equal_unicodedata2() -> None:
    database = pytest.importorskip("unicodedata2", reason="unicodedata2 is not installed")
    compare_categories(database)


def test_categories_equal_the_standard_library() -> None:
    compare_categories(unicodedata)


def compare_categories(database: ModuleType) -> None:
    version = database.unidata_version.removesuffix(".0")
    if version not in VERSIONS:
        pytest.skip(f"no tables for Unicode {version}")
    expected = categories(database)
    assert len(expected) == 30
    assert {name: load(version).property(name) for name in expected} == expected


def test_fold_orbits(properties: Properties) -> None:
    orbits = properties.fold_orbits()
    assert {orbit for orbit in orbits if orbit[0] < 128 and len(orbit) > 2} == {(0x4B, 0x6B, 0x212A), (0x53, 0x73, 0x17F)}
    assert (0x49, 0x69) in orbits  # and no U+0130, U+0131
    assert (0xB5, 0x39C, 0x3BC) in orbits
    members = [c for orbit in orbits for c in orbit]
    assert len(set(members)) == len(members)
    assert all(len(orbit) > 1 and orbit == tuple(sorted(orbit)) for orbit in orbits)
    assert orbits == tuple(sorted(orbits))
    assert ((0xFB05, 0xFB06) in orbits) == (properties.version not in ("14.0", "15.0"))


def test_fold_orbits_equal_casefold_of_the_standard_library() -> None:
    version = unicodedata.unidata_version.removesuffix(".0")
    if version not in VERSIONS:
        pytest.skip(f"no tables for Unicode {version}")
    classes: defaultdict[str, list[int]] = defaultdict(list)
    for code_point in range(0x110000):
        folded = chr(code_point).casefold()
        if len(folded) == 1:
            classes[folded].append(code_point)
    expected = {tuple(sorted(members)) for members in classes.values() if len(members) > 1}
    # casefold() is full folding: where that is longer than one character, the simple folding shows only in our data.
    ours = {orbit for orbit in load(version).fold_orbits() if all(len(chr(c).casefold()) == 1 for c in orbit)}
    assert ours == expected


def test_close_over_case(properties: Properties) -> None:
    assert properties.close_over_case(CodeSet.of("k", "1")) == CodeSet.of("1", "K", "k", 0x212A)
    assert properties.close_over_case(EMPTY) == EMPTY
    assert properties.close_over_case(ALL) == ALL
    letters = known(properties, "L")
    assert properties.close_over_case(letters) - letters == CodeSet.of(0x345)  # a mark that folds to iota
    closed = properties.close_over_case(known(properties, "Lu"))
    assert properties.close_over_case(closed) == closed


def test_special_classes() -> None:
    punctuation = special_class("hf_punctuation")
    assert len(punctuation) == 726
    assert len(known(load("16.0"), "P") - punctuation) == 140
    assert punctuation - known(load("16.0"), "P") - CodeSet([(0, 127)]) == CodeSet.of(0x166D, 0x111C9)
    with pytest.raises(ValueError, match="there are hf_punctuation"):
        special_class("punctuation")
