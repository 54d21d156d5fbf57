"""ECMAScript patterns. The tables were checked against V8."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import for_each

from workrail_lint.base.ecma_regex import compile_pattern
from workrail_lint.base.ecma_regex.escapes import canonical_point, canonical_unit


def _found(pattern: str, flags: str, text: str) -> bool:
    return compile_pattern(pattern, flags).value.search(text).value


@for_each(
    "pattern, flags, text, expected",
    [
        # ends and lines
        ("a$", "", "a\n", False),
        ("a$", "m", "a\nb", True),
        ("a$", "m", "a\u2028b", True),
        ("^b", "", "a\nb", False),
        ("^b", "m", "a\rb", True),
        ("a.b", "", "a\rb", False),
        ("a.b", "", "a\u2029b", False),
        ("a.b", "", "a\x85b", True),
        ("a.b", "s", "a\nb", True),
        ("b", "y", "ab", False),
        ("a", "y", "ab", True),
        ("b", "g", "ab", True),
        ("b", "d", "ab", True),
        # classes are ASCII, white space is ECMAScript's
        (r"\d", "", "\uff11", False),
        (r"\w", "", "é", False),
        (r"\W", "", "é", True),
        (r"\bé", "", "aé", True),
        (r"\Bb", "", "ab", True),
        (r"\s", "", "\ufeff", True),
        (r"\s", "", "\x85", False),
        (r"\S", "", "\x1c", True),
        ("[^]", "", "\n", True),
        ("[]", "", "a", False),
        ("[]|b", "", "b", True),
        (r"[\b]", "", "\x08", True),
        (r"[\d-x]", "", "-", True),
        (r"[^\W]", "", "a", True),
        (r"[a-c-e]", "", "-", True),
        # UTF-16 units without u
        ("^.$", "", "\U0001f600", False),
        ("^..$", "", "\U0001f600", True),
        ("^.$", "u", "\U0001f600", True),
        ("^.$", "u", "\ud83d\ude00", True),
        ("^[\U0001f600]$", "", "\U0001f600", False),
        ("^[\U0001f600]$", "u", "\U0001f600", True),
        ("\U0001f600{2}", "", "\U0001f600\ude00", True),
        (r"\ud83d", "", "\U0001f600", True),
        (r"\ud83d", "u", "\U0001f600", False),
        (r"\ud83d\ude00", "u", "\U0001f600", True),
        (r"\u{1f600}", "u", "\U0001f600", True),
        (r"^\u{3}$", "", "uuu", True),
        # case without u: four letters stand alone, full mappings do not count
        ("s", "i", "\u017f", False),
        ("k", "i", "\u212a", False),
        ("i", "i", "\u0130", False),
        ("i", "i", "\u0131", False),
        ("ß", "i", "ẞ", False),
        ("\u2126", "i", "ω", False),
        ("σ", "i", "ς", True),
        ("µ", "i", "Μ", True),
        ("\u01c5", "i", "\u01c6", True),
        ("[^k]", "i", "K", False),
        ("[à-ÿ]", "i", "É", True),
        ("\U00010400", "i", "\U00010428", False),
        # case with u: simple folding
        ("s", "iu", "\u017f", True),
        ("k", "iu", "\u212a", True),
        ("ß", "iu", "ẞ", True),
        ("\u2126", "iu", "ω", True),
        (r"\w", "iu", "\u017f", True),
        (r"\W", "iu", "\u017f", False),
        (r"\bs", "iu", "\u017f", True),
        ("\U00010400", "iu", "\U00010428", True),
        (r"^\p{Lu}$", "iu", "a", True),
        # groups and references
        (r"(a)\1", "", "aa", True),
        (r"(a)\1", "i", "aA", True),
        (r"(?:(a)|b)\1", "", "b", True),
        (r"^\1(a)$", "", "a", True),
        (r"^(a\1)$", "", "a", True),
        (r"(?<year>\d{4})-\k<year>", "", "2024-2024", True),
        (r"(?<$_é>a)\k<$_é>", "", "aa", True),
        (r"\k<n>(?<n>a)", "", "a", True),
        (r"\k", "", "k", True),
        (r"(?<=\1(a))b", "", "aab", True),
        (r"(?<=a+)b", "", "aab", True),
        (r"(?<!a)b", "", "ab", False),
        (r"(?=a)*b", "", "b", True),
        # legacy escapes
        (r"\1", "", "\x01", True),
        (r"\101", "", "A", True),
        (r"\400", "", " 0", True),
        (r"\8", "", "8", True),
        (r"\0", "", "\x00", True),
        (r"\cA", "", "\x01", True),
        (r"\c", "", "\\c", True),
        (r"[\c_]", "", "\x1f", True),
        (r"[\c]", "", "\\", True),
        (r"\A\Z\h\_", "", "AZh_", True),
        (r"\x4", "", "x4", True),
        (r"\x41", "", "A", True),
        ("a{,2}", "", "a{,2}", True),
        ("x{", "", "x{", True),
        ("]}", "", "]}", True),
        # properties
        (r"^\p{Script=Greek}+$", "u", "αβγ", True),
        (r"\P{L}", "u", "a", False),
        (r"[\p{L}\d]", "u", "7", True),
        (r"\p{ASCII}", "u", "é", False),
        (r"\P{ASCII}", "u", "é", True),
        (r"\P{Any}", "u", "é", False),
        (r"\p{L}", "", "p{L}", True),
        (r"\p{L}", "v", "a", True),
        # counts
        ("^a{2,3}$", "", "aaaa", False),
        ("^a{2,99999999999}$", "", "aaa", True),
        ("^(?:a?){5000000}$", "", "aaa", True),
        ("^" + "a{0}" * 3 + "$", "", "", True),
    ],
)
def test_meaning(pattern: str, flags: str, text: str, expected: bool) -> None:
    assert _found(pattern, flags, text) is expected


@for_each(
    "pattern, flags",
    [
        ("(", ""),
        (")", ""),
        ("[", ""),
        ("[b-a]", ""),
        ("\\", ""),
        ("*", ""),
        ("a**", ""),
        ("a++", ""),
        ("a?+", ""),
        ("^*", ""),
        (r"\b+", ""),
        ("{2}", ""),
        ("a{3,1}", ""),
        ("(?<=a)*", ""),
        ("(?", ""),
        ("(?i)a", ""),
        ("(?i:a)", ""),
        ("(?>a)", ""),
        ("(?#note)", ""),
        ("(?P<n>a)", ""),
        ("(?P=n)", ""),
        ("(?<n>a)(?<n>b)", ""),
        ("(?<1n>a)", ""),
        ("(?<n", ""),
        (r"(?<n>a)\k", ""),
        (r"(?<n>a)\k<m>", ""),
        (r"(?<n>a)[\k]", ""),
        ("a", "z"),
        ("a", "ii"),
        ("a", "uv"),
        (r"\A", "u"),
        (r"\1", "u"),
        (r"\00", "u"),
        (r"\x4", "u"),
        (r"\c", "u"),
        (r"\-", "u"),
        ("]", "u"),
        ("}", "u"),
        ("a{", "u"),
        ("a{,2}", "u"),
        ("(?=a)*", "u"),
        (r"[\d-x]", "u"),
        (r"\k<n>", "u"),
        (r"\u{110000}", "u"),
        (r"\u{}", "u"),
        (r"\p{lu}", "u"),
        (r"\p{Script=greek}", "u"),
        (r"\p{Script=Klingon}", "u"),
        (r"\p{gc=Nope}", "u"),
        (r"\p", "u"),
        ("[(]", "v"),
        ("[-]", "v"),
    ],
)
def test_refused(pattern: str, flags: str) -> None:
    result = compile_pattern(pattern, flags)
    assert not result.is_ok
    assert result.error


@pytest.mark.parametrize(
    ("pattern", "flags", "message"),
    [
        ("[a--b]", "v", "set notation"),
        ("[[a]]", "v", "set notation"),
        (r"[\q{ab}]", "v", "set notation"),
        ("(" * 101 + ")" * 101, "", "nested too deeply"),
        ("(?:a{1000}){1000}", "", "too many repetitions"),
        ("a{50001}", "", "too many repetitions"),
        ("a{40000}b{40000}", "", "too many repetitions"),
        ("a{40000}|b{40000}", "", "too many repetitions"),
        ("a" * 50_000, "", "too many repetitions"),
    ],
)
def test_legal_but_beyond_our_limits(pattern: str, flags: str, message: str) -> None:
    assert message in compile_pattern(pattern, flags).error


@pytest.mark.parametrize("pattern", ["a" * 49_999, "a{24998}|a{25000}"])
def test_just_within_our_limits(pattern: str) -> None:
    assert compile_pattern(pattern).is_ok


def test_a_search_ends_in_time() -> None:
    endless = compile_pattern("^(?:a|a|aa)+$").value
    assert endless.search("a" * 60 + "!", 0.05).error == "timeout"


def test_the_same_pattern_is_compiled_once() -> None:
    assert compile_pattern("ab+", "i") is compile_pattern("ab+", "i")


def test_canonical_forms_are_stable() -> None:
    for code in range(0x20000):
        folded = canonical_point(code)
        assert canonical_point(folded) == folded
        if code < 0x10000:
            upper = canonical_unit(code)
            assert canonical_unit(upper) == upper
            assert (upper < 128) == (code < 128)


_pieces = st.sampled_from(
    [
        *"abkK09_-.^$*+?|()[]{}\\/ \n",
        *("(?:", "(?=", "(?!", "(?<=", "(?<n>", "{2}", "{1,2}", "[a-z]", "[^a]"),
        *[r"\d", r"\w", r"\b", r"\1", r"\k<n>", r"\u0041", r"\u{1f600}", r"\p{L}", r"é", r"ß", r"😀"],
    ]
)
_flags = st.sets(st.sampled_from("imsuyg")).map(sorted).map("".join)


@settings(deadline=None)
@given(st.lists(_pieces, max_size=8).map("".join), _flags, st.text("abkKéßſ\n\U0001f600 0_", max_size=6))
def test_compiling_and_searching_are_total(pattern: str, flags: str, text: str) -> None:
    result = compile_pattern(pattern, flags)
    if result.is_ok:
        result.value.search(text, 0.5)
    else:
        assert isinstance(result.error, str)


@settings(deadline=None)
@given(st.text(max_size=8), st.text(max_size=3))
def test_a_literal_is_found_where_it_stands(text: str, around: str) -> None:
    escaped = "".join(f"\\u{{{ord(char):x}}}" for char in text)
    assert _found(escaped, "u", around + text + around)


@settings(deadline=None)
@given(st.text("abcXYZ019_", min_size=1, max_size=6))
def test_ascii_words_match_whatever_their_case(word: str) -> None:
    assert _found(f"^{word}$", "i", word.swapcase())
    assert _found(f"^{word}$", "", word.swapcase()) is (word == word.swapcase())


@settings(deadline=None)
@given(st.characters())
def test_a_class_and_its_complement_share_nothing(char: str) -> None:
    for name in "dws":
        for flags in ("", "u", "i", "iu"):
            assert _found(f"^\\{name}$", flags, char) is not _found(f"^\\{name.upper()}$", flags, char) or (
                # An astral character is two units, so neither class covers it alone.
                ord(char) > 0xFFFF and "u" not in flags
            )
