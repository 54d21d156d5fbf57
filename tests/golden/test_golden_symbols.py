"""Symbols: everything minted has one, nothing an author wrote does, and no two things look the same."""

from __future__ import annotations

import json
import math
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail.engine.model.ids import IdMint
from pytest_workrail.engine.store.memory import SeededEntropy
from pytest_workrail.engine.tokens import formats
from pytest_workrail.engine.tokens.formats import KeyPair
from pytest_workrail.golden.symbols import Symbols, joined, lines

KEYS = KeyPair(b"k" * 32, None)


def _token(kind: Any, number: int) -> str:
    # The number goes first: an altered token is known by its beginning.
    return formats.format_token(kind, number.to_bytes(2, "big") * 6, KEYS)


def _long(number: int, prefix: str = "st") -> str:
    return formats.encode_bech32m(prefix, bytes(80) + number.to_bytes(4, "big"))


def test_tokens_get_symbols_where_tokens_are_expected() -> None:
    symbols = Symbols()
    first, second, check = _token("continue", 1), _token("continue", 2), _token("checkpoint", 1)
    shown = symbols.value({"checkpointToken": check, "continueToken": first, "nextCall": {"continueToken": second}})
    assert shown == {"continueToken": "«CT1»", "checkpointToken": "«CK1»", "nextCall": {"continueToken": "«CT2»"}}
    assert symbols.value(f"use {first}.") == "use «CT1»."


def test_a_long_name_is_not_a_token() -> None:
    name = "st_number_of_open_questions"
    assert len(name) == len(_token("state", 1))
    assert Symbols().value({name: f"set {name} now"}) == {name: f"set {name} now"}


@pytest.mark.parametrize("damage", [lambda t: t[:-1], lambda t: t[:-1] + "-", lambda t: t + "x", lambda t: t[:12]])
def test_a_damaged_token_is_told_from_the_real_one(damage: Any) -> None:
    symbols = Symbols()
    first, second = _token("continue", 1), _token("continue", 2)
    symbols.value([{"continueToken": first}, {"continueToken": second}])
    assert symbols.value({"continueToken": damage(second)}) == {"continueToken": "«CT2 altered»"}
    assert symbols.value({"continueToken": second}) == {"continueToken": "«CT2»"}


def test_long_tokens_of_one_session_are_two_tokens() -> None:
    symbols = Symbols()
    first, second = _long(1), _long(2)
    assert first[:20] == second[:20]
    assert symbols.value([{"resumeToken": first}, {"resumeToken": second}]) == [
        {"resumeToken": "«ST1»"},
        {"resumeToken": "«ST2»"},
    ]
    assert symbols.value({"continueToken": second[:-1] + "q"}) == {"continueToken": "«ST2 altered»"}
    assert symbols.value(f"see {second}") == "see «ST2»"
    assert symbols.value({"ackToken": _long(1, "ack")}) == {"ackToken": "«AK1»"}


def test_a_token_is_known_again_by_its_first_eleven_characters() -> None:
    symbols = Symbols()
    short_token, long_token = _token("continue", 1), _long(1)
    symbols.value([{"continueToken": short_token}, {"resumeToken": long_token}])
    for token, name in ((short_token, "CT1"), (long_token, "ST1")):
        assert symbols.token(token[:11]) == f"«{name} altered»"
        assert symbols.token(token[:10]) == token[:10]


def test_a_text_that_is_nothing_but_a_known_token_has_its_symbol() -> None:
    symbols = Symbols()
    token = _token("continue", 1)
    symbols.value({"continueToken": token})
    assert symbols.value(token) == "«CT1»"
    assert symbols.value({"used": token}) == {"used": "«CT1»"}


@pytest.mark.parametrize("value", ["", "hello", "ct_", "ct_short", "st1"])
def test_what_was_never_a_token_stays(value: str) -> None:
    assert Symbols().value({"continueToken": value}) == {"continueToken": value}


def test_ids_get_symbols_anywhere() -> None:
    mint = IdMint(SeededEntropy("ids").generate)
    node, attempt, session, run, event = mint.node(), mint.attempt(), mint.session(), mint.run(), mint.event()
    symbols = Symbols()
    shown = symbols.value([f"gap_{attempt}_0", f"{session}:{node}", {node: run}, event, f"again {node}"])
    assert shown == ["gap_«ATTEMPT1»_0", "«SESSION1»:«NODE1»", {"«NODE1»": "«RUN1»"}, "«EVENT1»", "again «NODE1»"]


def test_members_named_by_chance_keep_their_order() -> None:
    mint = IdMint(SeededEntropy("order").generate)
    nodes = sorted((mint.node() for _ in range(4)), reverse=True)
    assert list(Symbols().value(dict.fromkeys(nodes, 1))) == [f"«NODE{number}»" for number in (1, 2, 3, 4)]


def test_the_workspace_is_wherever_it_is() -> None:
    symbols = Symbols()
    symbols.workspace("/home/me/project/")
    text = "/home/me/project/docs/a.md, /home/me/project. /home/me/projects /home/me/project.old (/home/me/project)"
    assert symbols.value(text) == (
        "«WORKSPACE»/docs/a.md, «WORKSPACE». /home/me/projects /home/me/project.old («WORKSPACE»)"
    )


@pytest.mark.parametrize("path", ["/", "relative/path", "", None, 7])
def test_what_is_no_folder_of_its_own_hides_nothing(path: Any) -> None:
    symbols = Symbols()
    symbols.workspace(path)
    assert symbols.value("a/b relative/path /c") == "a/b relative/path /c"


def test_a_workspace_behind_a_link_is_one_workspace(tmp_path: Any) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    symbols = Symbols()
    symbols.workspace(str(tmp_path / "link"))
    real = (tmp_path / "real").resolve()
    assert symbols.value(f"{tmp_path}/link/x {real}/x") == "«WORKSPACE»/x «WORKSPACE»/x"


def test_what_looks_like_a_symbol_is_marked() -> None:
    shown = Symbols().value(["«CT1»", "«\\CT1»", "⟪FIX⟫", "« Bonjour »", "«WORKSPACE»/x", "«CTX»", "«CT1 altered»"])
    assert shown == [
        "«\\CT1»",
        "«\\\\CT1»",
        "⟪\\FIX⟫",
        "« Bonjour »",
        "«\\WORKSPACE»/x",
        "«CTX»",
        "«\\CT1 altered»",
    ]


def test_numbers_are_the_numbers_of_json() -> None:
    shown = Symbols().value([1.0, -0.0, 1.5, True, 2**60, math.nan, -math.inf])
    assert shown == [1, 0, 1.5, True, 2**60, "«NaN»", "«-Infinity»"]
    assert [type(each) for each in shown[:4]] == [int, int, float, bool]


def test_what_an_agent_sends_may_be_cut_and_what_it_gets_may_not() -> None:
    long = "x" * 10_000
    shown = Symbols().value({"context": {"a": long}}, abbreviate=True)["context"]["a"]
    assert len(shown) < 300
    assert " 10000 sha256:" in shown
    other = Symbols().value({"context": {"a": long[:-1] + "y"}}, abbreviate=True)["context"]["a"]
    assert other != shown
    assert Symbols().value({"prompt": long}) == {"prompt": long}


def test_depth_is_no_danger() -> None:
    def nested(innermost: object) -> object:
        for _ in range(5000):
            innermost = [innermost]
        return innermost

    one, other = (repr(Symbols().value(nested(innermost))) for innermost in (1, 2))
    assert "«DEEP sha256:" in one
    assert one != other
    assert "«DEEP CANONICAL_JSON_NON_FINITE_NUMBER»" in repr(Symbols().value(nested(math.nan)))


class _Colour(Enum):
    RED = "red"


class _Word(str, Enum):
    LONG = "long\nword"


def test_only_json_is_shown() -> None:
    assert Symbols().value([_Word.LONG]) == [["long\n", "word"]]
    with pytest.raises(TypeError, match="_Colour"):
        Symbols().value([_Colour.RED])
    with pytest.raises(TypeError, match="set"):
        Symbols().value({"a": {1, 2}})


def test_a_text_keeps_its_lines() -> None:
    assert lines("one") == "one"
    assert lines("one\n") == ["one\n"]
    assert lines("\n\nb\r\nc") == ["\n", "\n", "b\r\n", "c"]
    assert lines("a\u2028b\x0bc") == "a\u2028b\x0bc"


TEXTS = st.text(st.sampled_from("ab«»⟪⟫\\\nCT1FIX_ ") | st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


@given(VALUES, VALUES)
def test_different_values_look_different(one: Any, other: Any) -> None:
    shown = [repr(Symbols().value(value)) for value in (one, other)]
    assert (shown[0] == shown[1]) == (json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True))


@given(VALUES)
def test_splitting_texts_can_be_undone(value: Any) -> None:
    assert joined(_split(value)) == value


def _split(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _split(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_split(item) for item in value]
    return lines(value) if isinstance(value, str) else value


def test_a_very_long_text_of_an_agent_is_cut_at_the_limit_and_told_apart_by_a_digest() -> None:
    whole = "a" * 8192
    assert Symbols().value(whole, abbreviate=True) == whole, "as long as a text may be"
    shown = [Symbols().value(text, abbreviate=True) for text in (whole + "a", whole + "b")]
    for text in shown:
        assert text.startswith("a" * 160 + "«LONG 8193 sha256:")
    assert shown[0] != shown[1]
    assert Symbols().value(whole + "a") == whole + "a", "what the engine says is never cut"


def test_a_value_is_shown_down_to_a_depth_of_150() -> None:
    def nested(depth: int) -> Any:
        value: Any = "bottom"
        for _ in range(depth):
            value = [value]
        return value

    assert Symbols().value(nested(151)) == nested(151)
    deeper = Symbols().value(nested(152))
    for _ in range(151):
        (deeper,) = deeper
    assert deeper.startswith("«DEEP sha256:")
    assert Symbols().value(nested(152)) != Symbols().value(nested(153))
