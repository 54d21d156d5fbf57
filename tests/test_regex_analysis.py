"""Patterns judged without running them, checked against engines that do run."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from effort import patience, times
from hypothesis import given, settings
from hypothesis import strategies as st

from workrail_lint.base.ecma_regex import LONGEST, compile_pattern, why_invalid, why_invalid_flags
from workrail_lint.base.regex_analysis import LONG, Facts, analyze, why_slow
from workrail_lint.base.regex_analysis.backtracking import EXPONENTIAL, POLYNOMIAL
from workrail_lint.base.result import Err, Ok


def facts(pattern: str, flags: str = "") -> Facts:
    found = analyze(pattern, flags)
    assert found is not None
    return found


# ------------------------------------------------------------------------------------------------- widths


@pytest.mark.parametrize(
    ("pattern", "minimum"),
    [
        ("", 0),
        (".*", 0),
        ("a|", 0),
        ("(?:)", 0),
        ("^$", 0),
        (r"\b", 0),
        (r"Finding \d+:", 10),
        (r"Finding \d+:.*severity:(high|medium|low)", 22),
        (r"/(auth/)?login", 6),
        (r"\b(401|unauthorized)\b", 3),
        ("a{3}", 3),
        ("a{3,}", 3),
        ("(ab){2,5}c?", 4),
        ("a{,3}", 5),  # no quantifier in JavaScript
        ("[^]", 1),
        (r"\u0041\x42\cC\n", 4),
        (r"\u{1F600}", 8),  # without the flag: u, braces, digits; quantified u{1F600} is no quantifier
        ("\U0001f600", 2),  # two UTF-16 units
        (r"(?=.*file)(?=.*line)", 4),
        (r"(?=[\s\S]{200})Findings", 200),
        (r"(?<=abc)d", 4),
        (r"x(?<=abc)d", 4),  # two of the three behind stand before the match
        (r"(?!abc)d", 1),
        (r"(a)\1", 1),
        (r"(?<n>ab)\k<n>", 2),
        ("a{99999999999}", 10**9),
        ("(", 0),
        ("a)b", 3),
        ("[abc", 1),
        ("\\", 1),
    ],
)
def test_minimum(pattern: str, minimum: int) -> None:
    assert facts(pattern).minimum == minimum


def test_flags_matter() -> None:
    assert facts(r"\u{1F600}", "u").minimum == 2
    assert facts(r"\p{Lu}{3}").minimum == len("p{Lu") + 3
    assert facts(r"\p{Lu}{3}", "u").minimum == 3


LITERALS = st.sampled_from(["a", "b", "c", "1", " ", r"\.", r"\\"])
ATOMS = LITERALS | st.sampled_from([".", "[ab]", "[^a]", r"\d", r"\w", r"\s"])


def tree(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Patterns that JavaScript and Python read alike."""
    quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{2,}", "*?", "+?"])
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=4).map("".join),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
            st.tuples(inner, quantifiers).map(lambda pair: f"({pair[0]}){pair[1]}"),
        ),
        max_leaves=8,
    )


@given(tree(ATOMS))
def test_minimum_is_what_python_says(pattern: str) -> None:
    assert facts(pattern).minimum == sre_parser.parse(pattern).getwidth()[0]


@given(tree(ATOMS), st.text("ab1 .c", max_size=12))
def test_no_shorter_text_matches(pattern: str, text: str) -> None:
    if re.search(pattern, text):
        assert len(text) >= facts(pattern).minimum


# ------------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("pattern", "spelled"),
    [
        ("done", ("done",)),
        ("^done$", ("done",)),
        ("(?:done|finished)", ("done", "finished")),
        (r"\bdone\b|finished\.", ("done", "finished.")),
        ("(a|b)(c|d)", ("ac", "ad", "bc", "bd")),
        ("a|", ("a", "")),
        ("a+", None),
        ("[a]", None),
        ("a.", None),
        (r"(a)\1", None),
        ("(?=a)a", None),
        ("(a|b)" * 7, None),  # more spellings than anybody wants to read
    ],
)
def test_spelled(pattern: str, spelled: tuple[str, ...] | None) -> None:
    assert facts(pattern).spelled == spelled


@given(tree(LITERALS))
def test_what_is_spelled_matches(pattern: str) -> None:
    for text in facts(pattern).spelled or ():
        assert re.fullmatch(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        ("abc", 3),
        (r"a1-\d", 1),
        ("high|low", 3),  # in every match
        ("(high)?", 0),
        ("(ab){3}", 6),
        ("(?=abc).", 3),
        ("(?!abc)d", 1),
        ("Бag", 3),
    ],
)
def test_letters(pattern: str, letters: int) -> None:
    assert facts(pattern).letters == letters


def test_words_are_literal_stretches() -> None:
    assert facts(r"Status:\s*(done|is_complete)[a-z]").words == ("Status", "done", "is_complete")
    assert facts(r"\d+").words == ()


def test_white_space_may_be_a_class() -> None:
    assert facts(r"analysis\s+complete").loose == ("analysis complete",)
    assert facts(r"done\s*=\s*true").loose == ("done=true",)
    assert facts(r"done\s*=\s*\w").loose is None


def test_kinds_of_parts() -> None:
    assert (facts("ab").has_class, facts("ab").has_quantifier) == (False, False)
    assert (facts("a.").has_class, facts("a[b]").has_class) == (True, True)
    assert facts("a?").has_quantifier


# ------------------------------------------------------------------------------------------------- speed


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(x+x+)+y",
        "(a*)*",
        "(a|a)*",
        "(a|aa)+",
        r"(\w|\d)+$",
        r"(\w+\s*)+:",
        "(a{1,2})+b",
        "(a{0,5})*b",
        "(?:a*b?)*c",
        "(a+a)+b",
        "((a{2})+)+",
        "(?=(a+)+$)b",
        "(?:(?:a|b)+c?)+d",
        "(.*a){20}.*(.*)*b",
        "(((((((((a*)*)*)*)*)*)*)*)*",
    ],
)
def test_exponential(pattern: str) -> None:
    assert why_slow(pattern) == EXPONENTIAL


@pytest.mark.parametrize(
    "pattern", ["a*a*b", ".*.*=.*", r"\s*\s*$", r"(.*)(\d+)x", r"\d+\w+!", "a*b?a*c", "[ab]+[bc]+d", ".*" * 400 + "x"]
)
def test_polynomial(pattern: str) -> None:
    assert why_slow(pattern) == POLYNOMIAL


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "a+",
        r"Finding \d+:.*severity:(high|medium|low)",
        r"Rationale:\s*.+",  # nothing after it can fail
        r"(\d+\. .+\n){3,}",
        r"(\w+\s)+:",
        "(a+b)+c",
        r"(.|\n)*x",
        r"(?:[^\"\\]|\\.)*\"",
        "([^,]*,)*x",
        "([a-z]+-)*[a-z]+$",
        "(a|ab)*c",
        r"(\w+\b)+!",
        "(a?)*b",
        r"\w+\s+\w+!",
        r"(\p{L}+ )+$",
        "(a",
        "a" * 900 + ".*x",
    ],
)
def test_not_slow(pattern: str) -> None:
    assert why_slow(pattern, "u" if "\\p" in pattern else "") is None


def test_case_matters_for_overlap() -> None:
    assert why_slow("a*A*b") is None
    assert why_slow("a*A*b", "i") == POLYNOMIAL


def test_a_long_pattern_is_slow_as_such() -> None:
    assert why_slow("a" * LONG) is None
    assert "1,001 characters" in str(why_slow("a" * (LONG + 1)))


SMALL = st.recursive(
    st.sampled_from(["a", "b", "[ab]"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}", "{2}"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=5,
)


@settings(max_examples=times(75, deep=600))
@given(SMALL, st.sampled_from(["a", "b", "ab", "aab", "abb"]))
def test_what_is_not_slow_fails_quickly(pattern: str, unit: str) -> None:
    if why_slow(f"{pattern}!") == EXPONENTIAL:
        return
    text = (unit * 18)[:18] + "?"
    assert backtracking_steps(pattern, text) < 60_000


Rest = Callable[[int], bool]


def backtracking_steps(pattern: str, text: str) -> int:
    """The steps a backtracking engine takes to find out that a text does not match pattern + "!"."""
    steps = 0

    def many(parts: list[Any], at: int, rest: Rest) -> bool:
        return rest(at) if not parts else one(parts[0], at, lambda here: many(parts[1:], here, rest))

    def repeat(part: Any, low: int, high: int, at: int, rest: Rest) -> bool:
        def again(here: int) -> bool:
            # A round that consumes nothing ends the repetition.
            return here != at and repeat(part, max(low - 1, 0), high - 1, here, rest)

        if high > 0 and many(list(part), at, again):
            return True
        return low == 0 and rest(at)

    def one(node: Any, at: int, rest: Rest) -> bool:
        nonlocal steps
        steps += 1
        if steps > 100_000:
            return True
        kind, value = str(node[0]), node[1]
        if kind == "LITERAL":
            return text[at : at + 1] == chr(value) and rest(at + 1)
        if kind == "IN":
            return (
                text[at : at + 1] in [chr(member[1]) for member in value] and text[at : at + 1] != "" and rest(at + 1)
            )
        if kind == "SUBPATTERN":
            return many(list(value[3]), at, rest)
        if kind == "BRANCH":
            return any(many(list(branch), at, rest) for branch in value[1])
        assert kind == "MAX_REPEAT", kind
        low, high, part = value
        return repeat(part, low, min(int(high), len(text)), at, rest)

    many(list(sre_parser.parse(pattern)), 0, lambda at: text[at : at + 1] == "!")
    return steps


# -------------------------------------------------------------------------------------- validity, Python


@pytest.mark.parametrize("flags", ["", "i", "dgimsuy", "v"])
def test_flags(flags: str) -> None:
    assert why_invalid_flags(flags) is None


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("z", "unknown flag 'z'"),
        ("ii", "repeated flag 'i'"),
        ("uv", "combined"),
        ("xy z", "unknown flags 'x', ' ', 'z'"),
    ],
)
def test_wrong_flags(flags: str, words: str) -> None:
    assert words in str(why_invalid_flags(flags))
    assert isinstance(compile_pattern("a", flags), Err)


def test_invalid() -> None:
    assert why_invalid("(") is not None
    assert why_invalid("a**") is not None
    assert why_invalid(r"\p{Nope}", "u") is not None
    assert why_invalid(r"(?<a>.)\k<a>") is None


@pytest.mark.parametrize(("pattern", "flags"), [("(" * 150 + ")" * 150, ""), ("[a--b]", "v"), ("(?:a{999}){999}", "")])
def test_what_cannot_be_judged_is_not_called_invalid(pattern: str, flags: str) -> None:
    # The translation refuses these too, for reasons of its own.
    assert isinstance(compile_pattern(pattern, flags), Err)
    assert why_invalid(pattern, flags) is None


@pytest.mark.parametrize(
    ("pattern", "flags", "foreign"),
    [
        (r"(?<n>a)\k<n>", "", ("(?<name>…)", r"\k<name>")),
        (r"\u{61}", "u", (r"\u{…}",)),
        (r"\p{L}", "u", (r"\p{…}",)),
        (r"\cA", "", (r"\cX",)),
        ("[^]", "", ("[^]",)),
        ("a{,3}", "", ("{,n}",)),
        ("(?<=a+)b", "", ("a lookbehind of varying length",)),
        (r"\1(a)", "", (r"\1 before the group it refers to",)),
        (r"[\w-z]", "", ("a class with - beside another class",)),
        (r"\e", "", (r"\e",)),
        (r"(a)\1[\d.-]\.\/", "", ()),
        (r"(?<=ab)c(?!d)", "", ()),
        (r"[a-z]+\s*\b", "", ()),
    ],
)
def test_foreign(pattern: str, flags: str, foreign: tuple[str, ...]) -> None:
    assert isinstance(compile_pattern(pattern, flags), Ok)
    assert facts(pattern, flags).foreign == foreign


@given(st.text(r"ab(|)[]{}*+?.\^$,1-:=!<>dwsbBkupx0n", max_size=14))
def test_what_is_not_foreign_compiles_in_python(pattern: str) -> None:
    if why_invalid(pattern) is None and not facts(pattern).foreign:
        with warnings.catch_warnings(action="ignore"):
            re.compile(pattern)


# ---------------------------------------------------------------------------------------------- totality


@given(st.text() | st.text(r"ab(|)[]{}*+?.\^$,1-:=!<>dwkupx", max_size=40), st.text("dgimsuvyz", max_size=4))
def test_total(pattern: str, flags: str) -> None:
    found = facts(pattern, flags)
    assert found.minimum >= 0
    assert found.letters >= 0
    why_slow(pattern, flags)
    why_invalid(pattern, flags)


@pytest.mark.parametrize(
    "pattern",
    [
        "(" * 10_000,
        ")" * 10_000,
        "[" * 10_000,
        "(?<" * 3_000,
        "a|" * 5_000,
        "\\" * 9_999,
        "(a*)*" * 190,
        "(a|b|c|d|e|f|g|h)*" * 50,
        "(?:a?){1000}" * 80,
        "(a|b)(c|d)" * 90,
        "a{1,9}" * 150,
        "(" * 300 + "a" + ")+" * 300,
        "{" * 5_000,
        "a{" + "9" * 5_000 + "}",
    ],
)
def test_hostile_patterns_are_over_quickly(pattern: str) -> None:
    with patience():
        analyze(pattern)
        why_slow(pattern)


def test_validity_is_decided_quickly() -> None:
    with patience():
        for pattern in (r"[\s\S]" * 2_000, r"\p{L}" * 2_000, r"[^\p{L}a]" * 1_000, "(?<a>" * 2_000):
            why_invalid(pattern, "iu")


def test_longest() -> None:
    assert analyze("a" * LONGEST) is not None
    assert analyze("a" * (LONGEST + 1)) is None
    assert why_invalid("(" * (LONGEST + 1)) is None
