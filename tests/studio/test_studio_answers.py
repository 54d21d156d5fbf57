"""What an author asks, answered by the page in a real browser: the answers are true, one or two actions away, and
reached by keyboard; every address leads somewhere."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import axe_violations, go
from effort import times
from samples import HOSTILE, branching, ordinary, write_project

from workrail_lint.cli import main

IDENT = "demo.branching"
SECRET = "sk-abcdefghijklmnopqrstuvwxyz012345"


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def _turn(step: str | None, token: int, **more: Any) -> dict[str, Any]:
    """A call of the engine: what was answered with the token before, and what came back."""
    pending = {"stepId": step, "title": step, "prompt": [[None, f"Do {step}."], ["NOTES_FULL", "Write notes."]]}
    answer = {"continueToken": f"«CT{token}»", "pending": pending} if step else {"isComplete": True, "kind": "ok"}
    request = {"intent": "advance", "continueToken": f"«CT{token - 1}»", **more} if token > 1 else more
    return {"tool": "continue_workflow" if token > 1 else "start_workflow", "request": request, "response": answer}


def _reports(current: str) -> dict[str, Any]:
    """What other commands found out about the project; `current` is the hash of the workflow now."""
    small = ["first", "small-way", "decide", "sign-off"]
    given = {"initialContext": {"apiToken": SECRET, "size": "large"}}
    transcript = [_turn(step, at + 1, **(given if at == 0 else {})) for at, step in enumerate(small)]
    run = {"workflow": IDENT, "metadata": {"workflowHash": current}, "transcript": transcript, "final": {}}
    tests = ["s/large.scenario.json::large", "s/small.scenario.json::small", "s/odd.scenario.json::odd"]
    failed = {
        "test": tests[0],
        "state": "failed",
        "seconds": 0.5,
        "message": "step 2: expected large-way, found small-way",
        "pointer": "/expect/steps/1",
        "expected": "large-way",
        "found": "small-way",
        "file": "s/large.scenario.json",
        "line": 7,
        "excerpt": {"first": 6, "lines": ["[", '  "large-way",', "]"]},
    }
    ended = [failed, {"test": tests[1], "state": "passed", "seconds": 0.25}]
    ended.append({"test": tests[2], "state": "changed", "seconds": 0.125, "message": "golden differs"})
    points = [
        {"kind": "step", "place": "first", "case": "done", "tests": [tests[1]]},
        {"kind": "step", "place": "small-way", "case": "done", "tests": [tests[1]]},
        {"kind": "condition", "place": "small-way", "case": "true", "tests": [tests[1]]},
        {"kind": "condition", "place": "small-way", "case": "false", "tests": []},
        {"kind": "step", "place": "large-way", "case": "done", "tests": []},
        {"kind": "loop", "place": "again", "case": "one", "tests": []},
        {"kind": "blocker", "place": "first", "case": "MISSING_REQUIRED_NOTES", "tests": []},
    ]
    covered = {"workflowId": IDENT, "workflowHash": current, "total": {"covered": 3, "points": 6}, "points": points}
    nothing = {"workflowId": "demo.part_1", "total": {"covered": 0, "points": 4}, "points": []}
    missing = {"context": {"size": "large"}}
    survivor = {
        "id": "CND-NEG:small-way",
        "operator": "CND-NEG",
        "place": "small-way",
        "words": "step 'small-way' always runs",
        "change": "If step 'small-way' always runs, no scenario would notice; a run with size: large would.",
        "missing": missing,
    }
    mutated = {
        "workflowId": IDENT,
        "workflowHash": current,
        "mutants": 9,
        "killed": 8,
        "inert": 0,
        "survived": [survivor],
    }
    old = {
        "workflowId": "demo.part_1",
        "workflowHash": "sha256:" + "0" * 64,
        "mutants": 2,
        "killed": 1,
        "survived": [survivor],
    }

    def session(number: int, status: str, *steps: str) -> dict[str, Any]:
        stuck = None if status == "complete" else steps[-1]
        return {
            "id": f"sess_{number}",
            "when": number,
            "status": status,
            "steps": steps,
            "blocked": [],
            "stuck": stuck,
            "minutes": 2,
        }

    now = [session(1, "complete", *small), session(2, "in_progress", "first", "small-way"), session(3, "gate", *small)]
    now[0]["blocked"] = [["first", "MISSING_REQUIRED_NOTES"]]
    before = [session(4, "in_progress", "first", "gone-way"), session(5, "in_progress", "first")]
    each = [
        {"hash": current, "version": "1.0.0", "sessions": now},
        {"hash": "sha256:old", "version": "0.9.0", "sessions": before},
    ]
    seen = {"workflowId": IDENT, "workflowHashes": [current, "sha256:old"], "sessions": 5, "each": each}
    steps = [
        {"step": "first", "bytes": 900, "tokens": 225, "bytesRead": 700, "visits": 1},
        {"step": "small-way", "bytes": 400, "tokens": 100, "bytesRead": 300, "visits": 1},
    ]
    paths = {
        name: {"calls": calls, "bytesRead": 1000, "tokensRead": 250} for name, calls in (("typical", 4), ("longest", 9))
    }
    cost = {"workflowId": IDENT, "workflowHash": current, "cost": {**paths, "dearestSteps": [], "steps": steps}}
    golden = "s/__goldens__/odd.golden.json"
    difference = {
        "change": "changed",
        "step": "first",
        "field": "prompt",
        "pointer": "/transcript/0/x",
        "old": "Do it.",
        "new": "Do this.",
    }
    groups = [
        {
            "id": "aaa111",
            "title": "prompt of 'first': one word",
            "workflow": IDENT,
            "runs": 1,
            "goldens": [golden],
            **difference,
        },
        {
            "id": "bbb222",
            "title": "turn at 'sign-off' is new",
            "workflow": IDENT,
            "runs": 1,
            "goldens": [golden],
            "change": "added",
            "step": "sign-off",
        },
    ]
    edit = {
        "id": "e123456",
        "workflow": IDENT,
        "kind": "added",
        "step": "sign-off",
        "title": "Step “A step” is new",
        "groups": ["bbb222"],
        "goldens": [golden],
    }
    pending = [
        {
            "golden": golden,
            "state": "changed",
            "test": tests[2],
            "groups": ["aaa111", "bbb222"],
            "differences": [difference],
        }
    ]
    runs = [{"test": test, **run} for test in tests]
    return {
        "runs": {"runs": runs, "tests": ended},
        "coverage": {"workflows": [covered, nothing]},
        "mutation": {"workflows": [mutated, old]},
        "sessions": {"workflows": [seen]},
        "cost": {"workflows": [cost]},
        "goldens": {"groups": groups, "pending": pending, "base": "HEAD", "edits": [edit], "unexplained": ["aaa111"]},
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A project in which everything is wrong once, with every report about it."""
    folder = tmp_path_factory.mktemp("answers")
    document = branching()
    gone = {
        "id": "gone-way",
        "title": "The gone way",
        "prompt": "Say goodbye.",
        "runCondition": {"var": "size", "equals": "large"},
    }
    before = {**document, "steps": [*document["steps"][:3], gone, *document["steps"][3:]]}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_project(folder, before, ordinary(1), {**ordinary(2), "id": "demo.broken", "name": "Broken"})
        _git("init", "-q")
        _git("add", "-A")
        _git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x")
        document["steps"][0]["prompt"] += " Use {{nowhere}}."
        write_project(folder, document)
        broken = folder / "workflows" / "broken.json"
        broken.write_text(broken.read_text().replace('"title"', '"title" 1', 1))
        shared = ["studio", "workflows", "--isolated", "--git", "HEAD"]
        assert main([*shared, "--format", "json", "--output", "first.json"]) == 0
        first = json.loads(Path("first.json").read_text())
        current = next(item["hash"] for item in first["workflows"] if item["id"] == IDENT)
        for option, content in _reports(current).items():
            Path(f"{option}.json").write_text(json.dumps(content))
            shared += [f"--{option}", f"{option}.json"]
        assert main([*shared, "--output", "page.html"]) == 0
        assert main([*shared, "--format", "json", "--output", "page.json"]) == 0
    return folder / "page.html", json.loads((folder / "page.json").read_text())


@pytest.fixture
def opened(page: Any, built: tuple[Path, dict[str, Any]]) -> Iterator[Any]:
    """The front page. The test fails if the console says anything."""
    page.goto(built[0].as_uri())
    yield page
    assert page.problems == []


def _has(view: Any, place: str, words: str) -> None:
    base, _, number = place.partition(" >> nth=")
    found = view.locator(base)
    (found.nth(int(number)) if number else found).filter(has_text=words).first.wait_for()


def _search(view: Any, words: str) -> None:
    """One action: type into the search, and take the first hit."""
    view.keyboard.press("/")
    view.keyboard.type(words)
    view.keyboard.press("Enter")


def _click(place: str) -> Callable[[Any], None]:
    return lambda view: view.click(place)


def _key(*keys: str) -> Callable[[Any], None]:
    def press(view: Any) -> None:
        for key in keys:
            view.keyboard.press(key)

    return press


# A question, at most two actions from the front page, and where the answer is.
QUESTIONS: dict[str, tuple[list[Callable[[Any], None]], str, str]] = {
    "what runs when": ([_click("a.name:has-text('Branching')")], ".canvas", "small"),
    "what does the agent read here": ([lambda view: _search(view, "large-way")], ".panel .piece-text", "Plan it."),
    "what is wrong first": (
        [_click(".tile:has-text('error')"), _click("a.tests-link >> nth=0")],
        ".work.open",
        "expected",
    ),
    "what is untested": (
        [_click("a.name:has-text('Branching')"), _click(".layers [data-choice=coverage]")],
        ".work-group:has-text('2 steps never ran') .work-text >> nth=0",
        "A step",
    ),
    "what changed since main": (
        [_click("td[data-title=Changes] a >> nth=0")],
        ".work >> nth=0",
        "Step is gone: The gone way",
    ),
    "where do agents get stuck": ([_click(".tile:has-text('gave up')")], ".work >> nth=0", "1 of 3"),
    "which test shows this": (
        [_click("a.cover >> nth=0"), _click(".card[data-step=small-way]")],
        ".work.open .work-body",
        "never false",
    ),
    "what happens if size is large": (
        [lambda view: _search(view, "size")],
        ".panel .golden-here",
        "runs if size is large",
    ),
    "what will this cost": (
        [_click("a.name:has-text('Branching')"), _click(".layers [data-choice=cost]")],
        ".work-top",
        "typical run: 4 calls, 1.0 kB, 250 tokens",
    ),
    "may I release it": (
        [_click("td[data-title=Changes] a >> nth=0")],
        ".work-top",
        "needs version 2.0.0 (major), is 1.0.0",
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_in_two_actions(opened: Any, question: str) -> None:
    actions, place, words = QUESTIONS[question]
    assert len(actions) <= 2
    for act in actions:
        act(opened)
    _has(opened, place, words)


def test_a_failed_test_never_looks_green(opened: Any, built: Any) -> None:
    states = [run["outcome"]["state"] for run in built[1]["runs"]]
    assert opened.inner_text(".tile >> nth=0").split("\n") == ["1", "test failed", f"1 of {len(states)} passed"]
    assert opened.get_attribute(".tile >> nth=0", "class") == "tile tone-err"
    assert "large" in opened.inner_text(".next li:has-text('expected large-way')")
    opened.click(".tile >> nth=0")
    opened.wait_for_selector(".run-row.s-failed")
    opened.click(".run-row.s-failed")
    _has(opened, ".failure", "Failed at moment 2")
    assert opened.inner_text(".versus dd >> nth=0") == opened.inner_text(".versus dd >> nth=1") == "A step"
    assert opened.inner_text(".excerpt .marked").split() == ["7", '"large-way",']
    assert opened.inner_text(".card[data-step=small-way] .mark") == "✗ failed here"
    assert opened.inner_text("a.moment.bad") == "✗"
    opened.keyboard.press("ArrowRight")
    _has(opened, ".panel .eyebrow", "moment 3 of 4")
    _has(opened, ".failure", "Failed at moment 2")
    opened.keyboard.press("f")
    _has(opened, ".panel .eyebrow", "moment 2 of 4")


def test_untested_is_a_workflow_of_which_no_goal_is_shown(opened: Any) -> None:
    assert opened.inner_text(".tile:has-text('untested') .tile-value") == "1"
    opened.click(".tile:has-text('untested')")
    opened.wait_for_selector("[data-choice=untested][aria-current]")
    assert opened.locator("a.name").all_inner_texts() == ["Part 1"]


def test_a_broken_file_keeps_its_map(opened: Any) -> None:
    _has(opened, ".next li >> nth=0", "Broken")
    go(opened, "demo.broken")
    _has(opened, ".banner", "broken.json does not compile: line")
    assert opened.locator(".left.stale .card").count() == 12
    assert opened.locator(".layers a").all_inner_texts()[0] == "Flow"
    assert opened.locator(".layers a").count() == 2
    _has(opened, ".work.open .marked", '"title" 1')


def test_sessions_are_split_by_version(opened: Any) -> None:
    go(opened, f"{IDENT}?layer=sessions")
    counts = [text.split() for text in opened.locator(".small-tabs a").all_inner_texts()]
    assert [words[-1] for words in counts] == ["3", "2", "5"]
    assert opened.locator(".left.stale").count() == 0
    assert opened.inner_text(".card[data-step=small-way] .mark") == "1 gave up"
    assert opened.inner_text(".card[data-step=sign-off] .mark") == "1 waits"
    assert "1 of 3 sessions completed" in opened.inner_text(".work-top")
    opened.click(".small-tabs [data-choice=others]")
    _has(opened, ".work-group:has-text('no longer has') .work-text", "gone-way")
    assert opened.inner_text(".card[data-step=first] .mark") == "1 gave up"


def test_sessions_are_counted_on_every_rail(opened: Any, built: Any) -> None:
    """Beside each step those that came to it; between joints those that went from one side to the other."""
    for of in ("this", "all"):
        go(opened, f"{IDENT}?layer=sessions&of={of}")
        workflow = next(item for item in built[1]["workflows"] if item["id"] == IDENT)
        known = {step["id"] for step in workflow["steps"]}
        listed = [each for version in workflow["sessions"]["each"] for each in version["sessions"]]
        ways = [
            [None, *(step for step in each["steps"] if step in known), *([] if each["stuck"] else [None])]
            for each in (listed[:3] if of == "this" else listed)
        ]

        def over(rail: dict[str, Any], ways: list[list[Any]] = ways) -> int:
            ends = [rail.get(f"{end}Steps", [rail[end]]) for end in ("from", "to")]
            return sum(any(a in ends[0] and b in ends[1] for a, b in itertools.pairwise(way)) for way in ways)

        rails = workflow["layout"]["rails"]
        beside = [
            rail["to"] for rail in rails if rail["to"] in known and rail["kind"] != "back" and "toSteps" not in rail
        ]
        wanted = [sum(step in way for way in ways) for step in beside]
        wanted += [over(rail) for rail in rails if rail["kind"] in ("skip", "back")]
        drawn = [int(text) for text in opened.locator(".flow-count").all_inner_texts()]
        assert sorted(drawn) == sorted(count for count in wanted if count)
        assert drawn
        heavy = opened.locator(".rail.h4").count()
        assert heavy == sum(4 * over(rail) > 3 * len(ways) for rail in rails), of


def test_mutants_of_another_version_are_not_drawn(opened: Any) -> None:
    go(opened, "demo.part_1?layer=mutants")
    _has(opened, ".notice", "Measured on another version of this workflow")
    assert opened.locator(".card .mark, .work").count() == 0
    opened.click("text=Show the 1 old survivors")
    opened.wait_for_selector(".left.stale")
    assert opened.locator(".work").count() == 1


def test_no_secret_is_in_the_file(opened: Any, built: Any) -> None:
    assert SECRET not in built[0].read_text(encoding="utf-8")
    go(opened, "~run/large/1")
    _has(opened, ".panel .vars", "apiToken")
    assert "[redacted" in opened.inner_text(".panel .secret")


def test_the_engines_text_is_the_engines(opened: Any) -> None:
    go(opened, "~run/small/1")
    rows = [text.split("\n") for text in opened.locator(".panel .piece").all_inner_texts()]
    assert rows == [["A", "Do first."], ["E", "Write notes."]]


def test_a_step_that_is_gone_is_where_it_was(opened: Any) -> None:
    go(opened, f"{IDENT}?layer=changes")
    assert opened.locator(".ghost").all_inner_texts() == ["− The gone way"]
    lane, gone = (opened.locator(place).bounding_box() for place in (".card[data-step=large-way]", ".ghost"))
    middles = [box["x"] + box["width"] / 2 for box in (lane, gone)]
    assert abs(middles[0] - middles[1]) < 3
    assert 0 <= gone["y"] - lane["y"] - lane["height"] < 20
    opened.click(".ghost")
    _has(opened, ".work.open .all-gone", "Say goodbye.")


def test_colours_of_coverage_mean_one_thing(opened: Any, built: Any) -> None:
    go(opened, f"{IDENT}?layer=coverage")
    classes = {
        step: opened.get_attribute(f".card[data-step={step}]", "class") for step in ("first", "small-way", "large-way")
    }
    assert "m-err" in classes["large-way"]
    assert "m-warn" in classes["small-way"]
    assert "m-" not in classes["first"], "only refusals are open"
    assert opened.inner_text(".card[data-step=first] .mark") == "1 open"
    assert opened.inner_text(".frame.loop .mark") == "never ran", "no test came to an end of the loop"
    assert "3 of 6 goals shown" in opened.inner_text(".work-top")


def test_what_no_edit_explains_comes_first(opened: Any) -> None:
    assert opened.inner_text(".tile:has-text('to review')").split("\n")[:2] == ["2", "to review"]
    opened.click(".tile:has-text('to review')")
    _has(opened, ".view-head", "1 edit explains 1 of 2 changes in 1 golden; 1 is not explained")
    assert [text.split("\n")[1] for text in opened.locator(".cause").all_inner_texts()] == [
        "prompt of 'first': one word",
        "Step “A step” is new",
    ]
    _has(opened, ".cause-body", "No edit of this workflow explains this change.")
    assert (opened.inner_text("del"), opened.inner_text("ins")) == ("it.", "this.")
    opened.keyboard.press("j")
    _has(opened, ".cause-body .command >> nth=0", "workrail-test golden accept --edit e123456 --base HEAD")
    assert opened.locator(".left.picture .card.current").get_attribute("data-step") == "sign-off"
    opened.click(".cause-body a:has-text('odd')")
    _has(opened, "h1", "odd")


def test_back_leaves_the_view_and_walking_does_not_count(opened: Any) -> None:
    opened.click("a.name:has-text('Branching')")
    opened.click(".layers [data-choice=findings]")
    opened.wait_for_selector(".worklist")
    kept = opened.evaluate("document.querySelector('.canvas').dataset.mark = 'kept'")
    for _ in range(3):
        opened.keyboard.press("j")
    assert opened.evaluate("document.querySelector('.canvas').dataset.mark") == kept, "only the list is drawn anew"
    assert "item=" in opened.url
    again = opened.url
    opened.go_back()
    opened.wait_for_selector(".layers [data-choice=flow][aria-current]")
    opened.go_back()
    opened.wait_for_selector(".tiles")
    opened.goto(again)
    opened.wait_for_selector(".work.open")


@pytest.mark.parametrize(
    ("address", "place", "words"),
    [
        (f"{IDENT}/small-way", "#step-title", "A step"),
        (f"{IDENT}/nowhere", ".notice-line", "This workflow has no step “nowhere”."),
        (f"{IDENT}?var=nothing", ".notice-line", "has no variable “nothing”"),
        ("demo.nothing", ".notice-line", "There is no workflow “demo.nothing” here."),
        ("~run/nothing/3", ".notice-line", "There is no run “nothing” here."),
        ("~run/large/0", ".panel .eyebrow", "moment 1 of 4"),
        ("~goldens/1", "h1", "Golden changes"),
        ("~goldens/e000000", ".notice-line", "No edit “e000000” is pending."),
        ("~rule/MISSING_REQUIRED_NOTES", "h1", "MISSING_REQUIRED_NOTES"),
        ("~rule/CD023", ".run-row", "nowhere"),
        ("~catalog/wr.contracts.loop_control", "details[open]", "loop_control"),
        ("%E0%A4%A", ".tiles", "errors"),
    ],
)
def test_every_address_leads_somewhere(opened: Any, address: str, place: str, words: str) -> None:
    go(opened, address)
    _has(opened, place, words)


def test_every_view_is_reached_by_keyboard(opened: Any) -> None:
    press = opened.keyboard.press
    press("j")
    assert opened.evaluate("document.activeElement.closest('.next') !== null")
    press("/")
    opened.keyboard.type("Branching")
    press("Enter")
    opened.wait_for_selector(".canvas")
    for layer in ("findings", "coverage", "sessions", "mutants", "changes", "cost"):
        press("]")
        opened.wait_for_selector(f".layers [data-choice={layer}][aria-current]")
        press("j")
        opened.wait_for_selector(".work.open, .worklist")
        if opened.locator(".panel-tabs").count():
            press("Enter")
            opened.wait_for_selector(".panel-tabs a:last-child[aria-current]")
            press("Enter")
            opened.wait_for_selector(".panel-tabs a:first-child[aria-current]")
        press("Escape")
    press("/")
    opened.keyboard.type("failed runs")
    press("Enter")
    opened.wait_for_selector(".run-row")
    press("j")
    press("Enter")
    opened.wait_for_selector(".player")
    press("/")
    opened.keyboard.type("edits to review")
    press("Enter")
    opened.wait_for_selector(".cause")
    press("?")
    opened.wait_for_selector("dialog .vars")
    # Both keys at once: the second one must not fall into the closing dialog.
    opened.evaluate(
        "for (const key of ['Escape', 'h'])"
        " document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))"
    )
    opened.wait_for_selector(".tiles")


def test_a_large_graph_opens_readable_and_folds(opened: Any) -> None:
    go(opened, IDENT)
    zoom = int(opened.inner_text(".zoom-value").rstrip("%"))
    assert 85 <= zoom <= 100
    assert opened.evaluate("document.querySelector('.scroller').scrollTop") == 0
    opened.hover(".scroller")
    opened.keyboard.down("Control")
    opened.mouse.wheel(0, -120)
    opened.keyboard.up("Control")
    opened.wait_for_function("zoom => parseInt(document.querySelector('.zoom-value').textContent) > zoom", arg=zoom)
    cards, tall = (
        opened.locator(".canvas .card").count(),
        opened.evaluate("document.querySelector('.canvas').style.height"),
    )
    opened.click("text=Fold")
    opened.wait_for_selector(".frame.is-folded")
    assert "fold=" in opened.url
    assert opened.locator(".canvas .card").count() < cards
    assert float(opened.evaluate("document.querySelector('.canvas').style.height")[:-2]) < float(tall[:-2])
    opened.click("text=Unfold")
    opened.wait_for_selector(".frame:not(.is-folded)")
    assert opened.locator(".canvas .card").count() == cards


def test_the_index_of_the_search_is_made_in_pieces(opened: Any) -> None:
    """Each look at the clock says that the time of a piece is over; what was typed meanwhile is answered at the end."""
    opened.evaluate("(() => { let now = 0; performance.now = () => (now += 1000); })()")
    opened.evaluate("globalThis.setTimeout = (act, wait, ...given) => (globalThis.waiting = () => act(...given))")
    opened.keyboard.press("/")
    opened.fill(".palette-field", "zzzz")
    _has(opened, ".results", "Still looking")
    pieces = 0
    while opened.evaluate(
        "(() => { const go = globalThis.waiting; globalThis.waiting = null; go?.(); return !!go; })()"
    ):
        pieces += 1
    assert pieces > 5
    _has(opened, ".results", "Nothing has these words")


def test_search_finds_prompts_codes_variables_and_goals(opened: Any) -> None:
    opened.keyboard.press("/")
    for words, kind, hit in (
        ("plan it", "Prompts", "Plan it"),
        ("missing_required", "Codes", "MISSING_REQUIRED_NOTES"),
        ("size", "Variables", "size"),
        ("goal large-way", "Goals", "large-way: step done"),
        ("expected large", "Runs", "large"),
    ):
        opened.fill("dialog input", words)
        _has(opened, f"dialog [role=group][aria-label='{kind}']", hit)
    opened.fill("dialog input", HOSTILE)
    _has(opened, "dialog", "Nothing has these words.")
    opened.keyboard.press("Escape")
    assert opened.locator("dialog").count() == 0


VIEWS = (
    "",
    f"{IDENT}?layer=findings&item=CD023:7",
    f"{IDENT}?layer=coverage",
    f"{IDENT}?layer=sessions&of=all",
    f"{IDENT}?layer=mutants",
    f"{IDENT}?layer=changes",
    f"{IDENT}?layer=cost",
    "demo.part_1?layer=mutants&of=old",
    "demo.broken",
    f"{IDENT}?var=size",
    "~runs",
    "~run/large/2",
    "~goldens",
    "~rule/CD023",
)


@pytest.mark.search
@pytest.mark.parametrize(
    ("width", "scheme", "first", "each"),
    # Every day each view is looked at in both schemes and in both widths, and some on paper, which has no width.
    [
        *((1400, "light", 0, 2), (390, "dark", 0, 2), (1400, "dark", 1, 2), (390, "light", 1, 2)),
        (0, "light", 1, 4),
    ],
)
def test_axe_finds_nothing(page: Any, built: Any, width: int, scheme: str, first: int, each: int) -> None:
    page.set_viewport_size({"width": width or 800, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.goto(built[0].as_uri())
    if not width:
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
    wrong = {}
    for address in VIEWS[times(first, deep=0) :: times(each, deep=1)]:
        go(page, address)
        if violations := axe_violations(page):
            wrong[address] = violations
        if width and "layer" in address:
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
    assert wrong == {}


def test_a_phone_has_the_list_and_the_picture(page: Any, built: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{built[0].as_uri()}#{IDENT}?layer=coverage")
    page.click(".steps-list .card[data-step=large-way]")
    _has(page, ".work.open", "A step")
    assert not page.is_visible(".steps-list")
    page.click("text=The picture")
    page.wait_for_selector(".steps-list")
    page.goto(f"{built[0].as_uri()}#~goldens")
    page.click(".cause >> nth=1")
    page.wait_for_selector(".cause-body h2:visible")
    page.click("text=All edits")
    page.wait_for_selector(".cause:visible")
