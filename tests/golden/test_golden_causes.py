"""Many differences, few causes: what follows from a change is no change of its own, and many goldens share one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from golden_bench import Recorder, step, workflow
from golden_made_up import made_up

from pytest_workrail.golden.diff import Causes, Difference, compare, edits, grouped, headline, pieces, word_count
from pytest_workrail.golden.document import golden_value
from pytest_workrail.golden.encoding import same
from pytest_workrail.golden.show import _cropped, change_lines, golden_names, group_lines
from workrail_lint.base.terminal import Style

PLAIN = Style(False)


def run(*steps: dict[str, Any], say: str = "done", look_back: bool = True, **members: Any) -> dict[str, Any]:
    """A run through some steps, with a look back at each of them."""
    recorder = Recorder(workflow(*steps, **members))
    answer = recorder.start()
    for each in steps:
        if look_back:
            recorder.go(answer, intent="rehydrate", workspacePath="/work/space")
        answer = recorder.go(answer, notes=f"{say} {each['id']}")
    outputs = [{"step": each["id"], "notes": f"{say} {each['id']}"} for each in steps]
    return golden_value(recorder.transcript(outputs=outputs))


def heads(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [headline(cause.difference) for cause in Causes(old, new)]


A, B, C = step("look", "Look at the\nthing."), step("weigh", "Weigh it."), step("write", "Write it.")


def test_a_word_of_a_prompt_that_is_shown_many_times_is_one_cause() -> None:
    old, new = run(A, B, C), run(A, step("weigh", "Measure it."), C)
    assert len(compare(old, new)) > 1
    assert heads(old, new) == ["prompt of 'weigh': one word"]


def test_a_new_step_is_one_cause_with_its_turn_output_recap_and_numbers() -> None:
    old, new = run(A, C), run(A, B, C)
    assert len(compare(old, new)) > 3
    assert set(heads(old, new)) == {"turn at 'weigh' (ok) is new"}
    assert set(heads(new, old)) == {"turn at 'weigh' (ok) is gone"}


def test_notes_of_an_agent_explain_recaps_and_outputs() -> None:
    old, new = run(A, B, C), run(A, B, C, say="finished")
    assert heads(old, new) == [f"notes of the agent at '{name}': one word" for name in ("look", "weigh", "write")]


def test_the_same_word_in_two_prompts_is_two_causes() -> None:
    old, new = (
        run(step("look", "Ask the user."), step("weigh", "Tell the user.")),
        run(step("look", "Ask the client."), step("weigh", "Tell the client.")),
    )
    assert heads(old, new) == ["prompt of 'look': one word", "prompt of 'weigh': one word"]


def test_what_an_agent_sent_explains_the_answer_that_repeats_it() -> None:
    def about(topic: str) -> dict[str, Any]:
        value = golden_value(made_up(f"Write about {topic}."))
        value["transcript"][0]["request"]["goal"] = topic
        return value

    assert heads(about("caches"), about("queues")) == ["request/goal: one word"]


def test_numbers_that_moved_print_no_difference() -> None:
    """A symbol that means another one but looks the same was shown as a change from itself to itself."""
    old, new = run(A, B, C), run(step("zero", "First."), A, B, C)
    shown = [line for cause in Causes(old, new) for line in change_lines(cause.difference, PLAIN)]
    assert set(heads(old, new)) == {"turn at 'zero' (ok) is new"}
    assert not any("[-«" in line for line in shown)


def test_a_token_that_is_another_one_while_nothing_else_changed_is_a_cause() -> None:
    old = golden_value(made_up("A.", "B.", "C."))
    new = golden_value(made_up("A.", "B.", "C."))
    new["transcript"][2]["request"]["continueToken"] = "«CT1»"
    assert heads(old, new) == ["request/continueToken at 'step-1': another token or id"]


def test_a_digest_follows_from_what_it_is_made_of() -> None:
    def block(prompt: str, digest: str) -> dict[str, Any]:
        return {
            "pack": "blocks",
            "scenario": "s",
            "steps": [{"node": "look", "prompt": prompt, "promptSha256": digest}],
        }

    assert heads(block("Do it.", "1"), block("Do all.", "2")) == ["prompt of 'look': one word"]
    assert heads(block("Do it.", "1"), block("Do it.", "2")) == ["steps/*/promptSha256 at 'look': one word"]


def test_an_event_more_does_not_count_for_the_numbers_behind_it() -> None:
    def log(*names: str) -> dict[str, Any]:
        return {"pack": "team", "trace": [{"n": n, "event": name} for n, name in enumerate(names, 1)]}

    assert heads(log("a", "c", "d"), log("a", "b", "c", "d")) == ["trace/* is new"]


def test_many_goldens_share_a_change() -> None:
    pairs = [(run(A, B, say=f"did {n}"), run(A, step("weigh", "Measure it."), say=f"did {n}")) for n in range(5)]
    pairs.append((run(A, C), run(A, step("write", "Write all."))))
    groups = grouped((f"s{n}.golden.json", list(Causes(*pair))) for n, pair in enumerate(pairs))
    assert [group.title for group in groups] == [
        "prompt of 'weigh': one word, in 5 runs",
        "prompt of 'write': one word, in 1 run",
    ]
    assert list(group_lines(groups[0], PLAIN))[1:] == [
        "    - Weigh it.",
        "    + Measure it.",
        "    s0, s1, s2 and 2 more",
    ]
    assert len({group.key.id for group in groups}) == 2


def test_a_change_of_an_item_is_the_same_change_wherever_the_item_is() -> None:
    def key(*before: dict[str, Any]) -> str:
        old, new = ({"workflow": "w", "final": {"gaps": [*before, {"code": "x", "note": note}]}} for note in "ab")
        (cause,) = Causes(old, new)
        return cause.key.id

    assert key() == key({"code": "y", "note": "c"})


@pytest.mark.parametrize("chosen", ["look", "weigh"])
def test_one_of_two_causes_is_taken_with_all_that_follows_from_it(chosen: str) -> None:
    edited = {"look": step("look", "Look at all the\nthing."), "weigh": step("weigh", "Measure it.")}
    old, new = run(A, B, C), run(edited["look"], edited["weigh"], C)
    causes = Causes(old, new)
    ids = [cause.key.id for cause in causes if cause.difference.step == chosen]
    expected = run(edited["look"] if chosen == "look" else A, edited["weigh"] if chosen == "weigh" else B, C)
    assert same(causes.with_only(ids).value, expected)


def test_a_new_step_is_taken_without_the_word_that_changed_beside_it() -> None:
    old, new = run(A, C), run(A, B, step("write", "Write all."))
    causes = Causes(old, new)
    ids = [cause.key.id for cause in causes if cause.difference.sort == "turn"]
    assert same(causes.with_only(ids).value, run(A, B, C))


def test_nothing_a_run_says_can_speak_to_the_terminal() -> None:
    old, new = golden_value(made_up("A.\nB.")), golden_value(made_up("A.\n\x1b[2Jboo"))
    (group,) = grouped([("\x1b.golden.json", Causes(old, new))])
    assert all(line.isprintable() for line in group_lines(group, PLAIN))


def test_a_long_line_is_shown_around_what_changed() -> None:
    words = " ".join(f"word{n}" for n in range(200))
    (cause,) = Causes(golden_value(made_up(f"{words} old {words}")), golden_value(made_up(f"{words} new {words}")))
    (line,) = change_lines(cause.difference, PLAIN)
    assert "[-old-]{+new+}" in line
    assert line.startswith("…")
    assert len(line) < 150


def test_lines_far_from_a_change_are_left_out_and_much_of_it_is_cut() -> None:
    text = "\n".join(f"line {n}" for n in range(40))
    (cause,) = Causes(
        golden_value(made_up(text)), golden_value(made_up(text.replace("line 9", "row 9").replace("line 30", "row 30")))
    )
    assert change_lines(cause.difference, PLAIN) == [
        "line 8", "[-line-]{+row+} 9", "line 10", "⋮", "line 29", "[-line-]{+row+} 30", "line 31",
    ]  # fmt: skip
    (cause,) = Causes(golden_value(made_up(text)), golden_value(made_up(text.replace("line", "row"))))
    assert change_lines(cause.difference, PLAIN)[-1] == "… and 29 more lines"
    assert len(change_lines(cause.difference, PLAIN, None)) == 40


def text_change(old: str, new: str) -> Difference:
    return Difference("changed", "answer", "", "outline", "", old, new)


def test_what_stayed_is_shown_up_to_a_hundred_characters() -> None:
    for length, whole in ((99, True), (100, True), (101, False)):
        kept = ("a" * 50 + "b" * length)[: length - 50] + "c" * 50
        first, second = kept[:50], kept[-50:]
        assert change_lines(text_change(f"{kept}\nold", f"{kept}\nnew"), PLAIN) == [
            kept if whole else f"{kept[:100]}…",
            "[-old-]{+new+}",
        ]
        cut = [
            _cropped(kept, is_first, is_last) for is_first, is_last in ((True, False), (False, False), (False, True))
        ]
        assert cut == ([kept] * 3 if whole else [f"…{second}", f"{first}…{second}", f"{first}…"])


def test_twelve_lines_of_a_change_are_shown_and_others_counted() -> None:
    for count in (11, 12, 13, 14):
        old, new = ("\n".join(f"{word}{number}" for number in range(count)) for word in ("a", "b"))
        shown = change_lines(Difference("added", "answer", "", "outline", "", None, old), PLAIN)
        lines = [f"{{+a{number}+}}" for number in range(count)]
        assert shown == (lines if count < 13 else [*lines[:11], f"… and {count - 11} more lines"])
        assert len(change_lines(text_change(old, new), PLAIN, None)) >= count


def test_lines_between_two_changes_are_left_out_where_they_are_many() -> None:
    for between in range(6):
        middle = [str(number) for number in range(between)]
        whole = text_change("\n".join(["old", *middle, "old"]), "\n".join(["new", *middle, "new"]))
        change = "[-old-]{+new+}"
        shown = middle if between < 3 else [middle[0], "⋮", middle[-1]]
        assert change_lines(whole, PLAIN) == [change, *shown, change]
    blank = text_change("old\n\n\n\n\nold", "new\n\n\n\n\nnew")
    assert change_lines(blank, PLAIN) == ["[-old-]{+new+}", "[-old-]{+new+}"]


def test_a_value_is_shown_up_to_three_hundred_characters() -> None:
    for length in (299, 300, 301):
        text = json.dumps(["x" * (length - 4)])
        assert len(text) == length
        (line,) = change_lines(Difference("removed", "answer", "", "context", "", json.loads(text), None), PLAIN)
        assert line == f"[-{text if length < 301 else text[:300] + '…'}-]"


def test_three_goldens_of_a_change_are_named() -> None:
    names = [f"a/__goldens__/s{number}.golden.json" for number in range(5)]
    shown = [next(golden_names(names[:count], all_goldens=False)) for count in (1, 3, 4, 5)]
    assert shown == ["a/s0", "a/s0, s1, s2", "a/s0, s1, s2 and 1 more", "a/s0, s1, s2 and 2 more"]
    elsewhere = ["a/__goldens__/s.golden.json", "b/__goldens__/s.golden.json"]
    assert next(golden_names(elsewhere, all_goldens=False)) == "a/s, b/s"
    assert list(golden_names(names, all_goldens=True)) == names


def test_colours_take_the_place_of_brackets() -> None:
    (cause,) = Causes(golden_value(made_up("Do it.")), golden_value(made_up("Undo it.")))
    assert change_lines(cause.difference, Style(True)) == ["\x1b[31;1mDo\x1b[0m\x1b[32;1mUndo\x1b[0m it."]


@pytest.mark.parametrize(
    ("old", "new", "expected", "words"),
    [
        ("a b c", "a x c", [("b", "x")], 1),
        ("a b c d", "a x y d", [("b c", "x y")], 2),
        ("a b.", "a b!", [(".", "!")], 1),
        ("", "new text", [("", "new text")], 2),
        ("one\ntwo\nthree", "one\nthree", [("two\n", "")], 1),
        ("a b c d e f g h", "z y x w v u t s", [("a b c d e f g h", "z y x w v u t s")], 8),
    ],
)
def test_texts_word_by_word(old: str, new: str, expected: list[tuple[str, str]], words: int) -> None:
    found = edits(old, new)
    assert [tuple(piece) for piece in found] == expected
    assert word_count(found) == words
    assert "".join(piece.old for piece in pieces(old, new)) == old
    assert "".join(piece.new for piece in pieces(old, new)) == new


def test_huge_texts_are_compared_in_no_time() -> None:
    old, new = " ".join(f"a{n}" for n in range(20_000)), " ".join(f"b{n}" for n in range(20_000))
    (edit,) = edits(old, new)
    assert edit == (old, new)


def test_what_only_the_first_answer_has_follows_from_a_turn_before_it() -> None:
    def referring(*steps: Any) -> dict[str, Any]:
        value = run(*steps)
        value["transcript"][0]["response"]["references"] = [{"id": "guide", "title": "Guide"}]
        return value

    assert heads(referring(A, B), referring(step("zero", "First."), A, B)) == ["turn at 'zero' (ok) is new"]
