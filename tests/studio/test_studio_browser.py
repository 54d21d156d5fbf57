"""The studio in a real browser, from a file and without a network: every view by click and by key, every number as
in the data, hostile text as text, and nothing that axe objects to."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import axe_violations, go
from effort import times
from samples import HOSTILE, branching, phased, write_project

from workrail_lint.cli import main
from workrail_lint.studio.page import page as page_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A page with every layer, and the data it was made from."""
    folder = tmp_path_factory.mktemp("studio")
    write_project(folder)
    goldens = str(ROOT / "fixtures" / "scenarios")
    total = {"covered": 1, "points": 3, "percent": 33.3}
    points = [
        {"kind": "step", "place": "first", "case": "done", "tests": ["a.scenario.json::a"]},
        {"kind": "condition", "place": "small-way", "case": "true", "tests": []},
        {"kind": "gap", "place": "again/decide", "case": "x", "tests": []},
    ]
    kinds = {"step": {"covered": 1, "points": 1}}
    covered = {"workflowId": "demo.branching", "total": total, "kinds": kinds, "points": points}
    survivor = {"id": "m1", "operator": "CND-NEG", "place": "small-way", "change": HOSTILE, "missing": "a run"}
    mutated = {"workflowId": "demo.branching", "mutants": 10, "killed": 8, "inert": 1, "survived": [survivor]}
    visited = {"step": "first", "passed": 7, "blocked": 2, "abandoned": 1}
    seen = {"workflowId": "demo.branching", "sessions": 9, "steps": [visited]}
    odd_point = {"kind": HOSTILE, "place": "constructor", "case": HOSTILE, "tests": ["__proto__", HOSTILE]}
    odd_kinds = {"__proto__": {"covered": 1, "points": 2}}
    odd_total = {"covered": 0, "points": 0, "percent": 0}
    odd_covered = {"workflowId": "demo.hostile", "total": odd_total, "kinds": odd_kinds, "points": [odd_point]}
    odd_visit = {"step": "constructor", "passed": 1, "blockers": {"__proto__": 2, HOSTILE: 1}}
    odd_ends = {"__proto__": 1, HOSTILE: 1}
    odd_seen = {
        "workflowId": "demo.hostile",
        "sessions": 1,
        "steps": [odd_visit],
        "mend": [HOSTILE],
        "statuses": odd_ends,
    }
    odd_missing = {"context": {"__proto__": HOSTILE}}
    odd_mutant = {"id": "m", "operator": HOSTILE, "place": "constructor", "change": HOSTILE, "missing": odd_missing}
    odd_mutated = {"workflowId": "demo.hostile", "mutants": 1, "killed": 0, "score": 0, "survived": [odd_mutant]}
    _write_hostile_goldens(folder / "goldens")
    group = {"id": "abc123", "title": HOSTILE, "workflow": "demo.branching", "runs": 1, "step": "first"}
    pending = {"groups": [{**group, "goldens": ["g"], "old": "one two", "new": "one three"}], "pending": []}
    given: list[str] = []
    for option, content in (
        ("coverage", {"workflows": [covered, odd_covered]}),
        ("mutation", {"workflows": [mutated, odd_mutated]}),
        ("sessions", {"workflows": [seen, odd_seen]}),
        ("goldens", pending),
    ):
        path = folder / f"{option}.json"
        path.write_text(json.dumps(content))
        given += [f"--{option}", str(path)]
    locks = str(ROOT / "docs" / "lock-coverage.json")
    workflows = [str(folder / "workflows"), str(ROOT / "fixtures" / "scenarios" / "workflows")]
    shared = ["studio", *workflows, "--isolated", *given, "--goldens", goldens, "--locks", locks]
    shared += ["--goldens", str(folder / "goldens")]
    assert main([*shared, "--output", str(folder / "page.html")]) == 0
    assert main([*shared, "--format", "json", "--output", str(folder / "page.json")]) == 0
    return folder / "page.html", json.loads((folder / "page.json").read_text())


def _write_hostile_goldens(folder: Path) -> None:
    """One golden of each agent contract with hostile text in every string that a document decides."""

    def poisoned(value: Any, name: str = "") -> Any:
        match value:
            case str() if name not in ("pack", "event", "type", "tool", "kind") and not value.startswith(("«", "⟪")):
                return value + HOSTILE
            case list():
                return [poisoned(item, name) for item in value]
            case dict():
                return {key: poisoned(item, key) for key, item in value.items()} | {"__proto__": HOSTILE}
            case _:
                return value

    folder.mkdir()
    scenarios = ROOT / "fixtures" / "scenarios"
    for name in ("gaps-loop-limit", "team/build-guided", "blocks/conflict-decided"):
        kind, _, short = name.rpartition("/")
        golden = json.loads((scenarios / kind / "__goldens__" / f"{short}.golden.json").read_text(encoding="utf-8"))
        (folder / f"hostile-{short}.golden.json").write_text(json.dumps(poisoned(golden)))


@pytest.fixture
def opened(page: Any, built: tuple[Path, dict[str, Any]]) -> Iterator[Any]:
    """The front page, without a network. The test fails if the console says anything, or the page asks for more."""

    def note(request: Any) -> None:
        if not request.url.startswith("file:"):
            page.problems.append(request.url)

    page.context.set_offline(True)
    page.on("request", note)
    page.goto(built[0].as_uri())
    yield page
    page.remove_listener("request", note)
    page.context.set_offline(False)
    assert page.problems == []


def _own_and_some(workflows: list[Any]) -> list[Any]:
    """Return the workflows that are written for these tests, and every day some of the others."""
    own = [each for each in workflows if each["id"] in ("demo.branching", "demo.hostile")]
    assert len(own) == 2
    return own + [each for each in workflows if each not in own][:: times(12, deep=1)]


@pytest.mark.search
def test_every_workflow_step_and_variable_is_reached_by_click(opened: Any, built: Any) -> None:
    for workflow in _own_and_some(built[1]["workflows"]):
        opened.click("nav >> text=Workflows")
        opened.click(f"a.name[href='#{workflow['id']}']")
        opened.wait_for_selector(".canvas .card")
        assert opened.locator(".canvas .card").count() == len(workflow["layout"]["nodes"])
        for step in workflow["steps"]:
            place = f".canvas [data-step='{step['id']}']"
            opened.click(f"{place} >> nth=0")
            # The page is drawn anew after a click; one that comes meanwhile would be lost.
            opened.wait_for_selector(f"{place}[aria-current='step']")
            assert opened.inner_text("#step-title").startswith(step["title"][:10].split("<")[0])
        go(opened, workflow["id"])
        for variable in workflow["vars"]:
            opened.click(f".variables a.variable[data-variable='{variable['name']}']")
            opened.wait_for_selector(f"a.variable.chosen[data-variable='{variable['name']}']")
            marked = opened.locator(".canvas .card:not(.dim)").count()
            assert marked >= len({*variable["set"], *variable["read"]} & {n["id"] for n in workflow["layout"]["nodes"]})
            opened.keyboard.press("Escape")


def test_drawn_numbers_are_those_of_the_data(opened: Any, built: Any) -> None:
    data = built[1]
    findings = [f["severity"] for workflow in data["workflows"] for f in workflow["findings"]]
    tiles = [text.split("\n") for text in opened.locator(".tile").all_inner_texts()]
    assert [tile[:2] for tile in tiles] == [
        ["1", "to review"],
        [str(findings.count("error")), "errors"],
        [str(len(data["workflows"]) - 1), "workflows untested"],
        ["1", "session gave up"],
    ]
    assert "33% of 3 goals shown" in tiles[2][2]
    assert opened.locator("tbody tr").count() == len(data["workflows"])
    go(opened, "demo.branching")
    layers = opened.locator(".layers a").all_inner_texts()
    workflow = next(item for item in data["workflows"] if item["id"] == "demo.branching")
    bytes_read = sum(step["bytes"] for step in workflow["steps"])
    assert [re.sub(r"\s+", "", text) for text in layers] == [
        "Flow",
        f"Findings{len(workflow['findings'])}",
        "Coverage33%",
        "Sessions9",
        "Mutants1",
        f"Cost{bytes_read}B",
    ]
    opened.click(".layers [data-choice=coverage]")
    opened.wait_for_selector(".work-top:has-text('1 of 3 goals shown')")
    assert opened.inner_text(".card[data-step=first] .mark") == "✓"
    assert opened.inner_text(".card[data-step=small-way] .mark") == "1 missing"
    assert opened.inner_text(".label .mark >> nth=0") == "never true"
    opened.click(".layers [data-choice=sessions]")
    opened.wait_for_selector(".card[data-step=first] .mark:text-is('1 gave up')")
    assert opened.locator(".work-where").all_inner_texts() == ["1 of 8", "2 of 8"]
    opened.click(".layers [data-choice=mutants]")
    opened.wait_for_selector(".card[data-step=small-way] .mark:text-is('1 unnoticed')")
    assert "8 of 9 noticed, 88%" in opened.inner_text(".legend-bar")
    assert "CND-NEG" in opened.inner_text(".panel")


def _some_runs(runs: list[Any]) -> list[Any]:
    """Return every sixth run of a team or of blocks, and the shortest workflow runs that show each kind of moment."""
    others = [run for run in runs if run["kind"] != "workflow"][:: times(6, deep=1)]
    seen: set[str] = set()
    played = []
    for run in sorted((run for run in runs if run["kind"] == "workflow"), key=lambda run: len(run["turns"])):
        kinds = {turn["kind"] for turn in run["turns"]}
        if not kinds <= seen or len(played) < times(0, deep=9):
            seen |= kinds
            played.append(run)
    assert seen >= {"blocked", "error", "gate"}
    return others + played


@pytest.mark.search
def test_every_run_is_played(opened: Any, built: Any) -> None:
    opened.click("nav >> text=Runs")
    opened.wait_for_selector(".run-row")
    runs = built[1]["runs"]
    assert opened.locator(".run-row").count() == len(runs)
    for run in _some_runs(runs):
        go(opened, f"~run/{run['name']}")
        assert opened.inner_text("h1").strip() == run["name"]
        if run["kind"] != "workflow":
            continue
        assert opened.locator(".moments .moment").count() == len(run["turns"])
        for moment in range(2, len(run["turns"]) + 1):
            opened.keyboard.press("ArrowRight")
            opened.wait_for_selector(f".panel .eyebrow:has-text('moment {moment} of')")
        for kind in ("blocked", "error", "gate"):
            drawn = opened.locator(f".moments .moment.k-{kind}").count()
            assert drawn == sum(turn["kind"] == kind for turn in run["turns"]), (run["name"], kind)


def test_keys(opened: Any) -> None:
    go(opened, "demo.branching")
    opened.keyboard.press("j")
    opened.wait_for_selector(".card.current[data-step=first]")
    opened.keyboard.press("j")
    opened.wait_for_selector(".card.current[data-step=small-way]")
    opened.keyboard.press("k")
    opened.wait_for_selector(".card.current[data-step=first]")
    opened.keyboard.press("1")
    assert '"id": "first"' in opened.inner_text("pre.source")
    opened.keyboard.press("3")
    assert "sample values" in opened.inner_text(".panel")
    opened.keyboard.press("]")
    opened.wait_for_selector(".layers [data-choice=findings][aria-current=true]")
    opened.keyboard.press("[")
    opened.keyboard.press("/")
    opened.keyboard.type("large-way")
    opened.keyboard.press("Enter")
    opened.wait_for_selector(".card.current[data-step=large-way]")
    opened.keyboard.press("Escape")
    opened.wait_for_selector(".panel .eyebrow:text-is('9 steps')")
    opened.keyboard.press("t")
    assert opened.evaluate("document.documentElement.dataset.theme") == "dark"
    opened.keyboard.press("h")
    opened.wait_for_selector(".tiles")


def test_hostile_text_is_text(opened: Any, built: Any) -> None:
    places = [
        "demo.hostile",
        "demo.hostile/constructor",
        "demo.hostile/to-string",
        "~goldens",
        "no/such/place",
        "__proto__",
    ]
    runs = [run for run in built[1]["runs"] if run["name"].startswith("hostile-")]
    assert {run["kind"] for run in runs} == {"workflow", "team", "blocks"}
    places += [f"~run/{run['name']}/{moment}" for run in runs for moment in range(0, len(run.get("turns", [0])), 5)]
    for address in places:
        go(opened, address)
        for layer in opened.eval_on_selector_all(".layers a", "all => all.map(each => each.dataset.choice)"):
            opened.click(f".layers [data-choice={layer}]")
            for _ in range(4):
                opened.keyboard.press("j")
        opened.keyboard.press("/")
        opened.keyboard.type("img")
        opened.keyboard.press("Escape")
        assert opened.locator("img").count() == 0
        assert opened.title() != "0"
        text = opened.inner_text("body")
        assert "\u202e" not in text
        assert "\x1b" not in text
    go(opened, "demo.hostile/constructor")
    assert "<img src=x onerror=" in opened.inner_text("#step-title")
    assert "U+202E" in opened.inner_text("#step-title")


def test_the_source_of_a_step_is_that_of_its_file(opened: Any) -> None:
    """The data has the steps of a loop and long prompts only once; the page puts them back."""
    for number, wanted in enumerate(branching()["steps"]):
        go(opened, f"demo.branching/{wanted['id']}?text=source")
        opened.wait_for_selector("pre.source")
        lines = "[...document.querySelectorAll('pre.source .line')].map(line => line.lastChild.data).join('')"
        assert json.loads(opened.evaluate(lines)) == wanted, number


def test_paper_is_light(browser: Any, built: Any) -> None:
    context = browser.new_context(viewport={"width": 800, "height": 900}, color_scheme="dark")
    view = context.new_page()
    view.goto(built[0].as_uri())
    ground = "getComputedStyle(document.body).backgroundColor"
    assert view.evaluate(ground) == "rgb(19, 22, 25)"
    view.emulate_media(media="print")
    assert view.evaluate(ground) == "rgb(246, 246, 243)"
    context.close()


def test_every_step_is_reached_by_the_tab_key(opened: Any, built: Any) -> None:
    go(opened, "demo.branching")
    workflow = next(item for item in built[1]["workflows"] if item["id"] == "demo.branching")
    reached = set()
    for _ in range(80):
        opened.keyboard.press("Tab")
        reached.add(opened.evaluate("document.activeElement.dataset.step ?? document.activeElement.dataset.variable"))
    assert reached >= {step["id"] for step in workflow["steps"]} | {item["name"] for item in workflow["vars"]}
    opened.focus(".canvas .card[data-step=sign-off]")
    opened.keyboard.press("Enter")
    opened.wait_for_selector(".card.current[data-step=sign-off]")
    assert opened.evaluate("document.activeElement.dataset.step") == "sign-off", "the focus stays where it was"


def test_lists_are_sorted_and_filtered(opened: Any, built: Any) -> None:
    names = sorted(item["name"].lower() for item in built[1]["workflows"] if item["id"] != "demo.hostile")
    for wanted in (names, names[::-1]):
        opened.click("[data-sort=workflow]")
        order = "ascending" if wanted is names else "descending"
        opened.wait_for_selector(f"th[aria-sort={order}]:has([data-sort=workflow])")
        shown = [name.lower() for name in opened.locator("a.name").all_inner_texts() if "img" not in name]
        assert shown == wanted
    opened.fill("main input[type=search]", "branching")
    assert opened.locator("a.name").all_inner_texts() == ["Branching"]
    for address, total in (("~runs", len(built[1]["runs"])), ("~locks", built[1]["locks"]["totalLocks"])):
        go(opened, address)
        rows = opened.locator(".run-row, main details.entry")
        assert rows.count() == total
        opened.fill("main input[type=search]", "conflict")
        assert 0 < rows.count() < total
    go(opened, "~catalog/wr.contracts.loop_control")
    assert opened.locator("details[open]").get_attribute("data-entry") == "wr.contracts.loop_control"


def test_what_happened_to_teams_and_blocks(opened: Any) -> None:
    go(opened, "~run/build-guided")
    assert opened.locator(".phase-band").count() == opened.locator(".team-log > li").count() == 17
    assert opened.locator(".phase-band.gate").count() == 3
    assert "guidance: pin the compiler" in opened.inner_text("main")
    opened.click(".beat[aria-label^='1: ']")
    opened.wait_for_selector(".panel .eyebrow:has-text('event 1 of')")
    go(opened, "~run/conflict-decided")
    assert opened.locator(".fan .lane-card").all_inner_texts()[0].startswith("form")
    assert "2 conflicts" in opened.inner_text(".fan")
    assert opened.locator(".files .lost").count() == 3
    opened.click(".lane-card >> nth=1")
    opened.wait_for_selector("#step-title:text-is('api')")
    go(opened, "~run/release-train")
    assert opened.locator(".stages > .stage").count() == 6


def _repository(folder: Path) -> None:
    """Changes that were not committed: a step is gone, another one came, a third one moved."""
    document = branching()
    write_project(folder, document)
    identity = ("-c", "user.name=x", "-c", "user.email=x@y")
    for command in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "x")):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
    steps = document["steps"]
    steps[0]["prompt"] += " Carefully."
    steps.append(steps.pop(1))
    del steps[1]
    write_project(folder, document)


def test_changes_are_drawn_where_they_are(page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _repository(tmp_path)
    assert main(["studio", "workflows", "--git", "HEAD", "--output", "page.html"]) == 0
    page.goto(f"{(tmp_path / 'page.html').as_uri()}#demo.branching")
    page.click(".layers [data-choice=changes]")
    page.wait_for_selector(".ghost")
    assert page.locator(".ghost").all_inner_texts() == ["− A step"]
    places = (".card[data-step=first]", ".ghost", ".frame.loop")
    first, gone, loop = (page.locator(place).bounding_box() for place in places)
    assert first["y"] + first["height"] <= gone["y"], "it was below the first step"
    assert gone["y"] + gone["height"] <= loop["y"] + 2, "and above the loop, which did not move"
    assert page.inner_text(".card[data-step=small-way] .mark") == "↕ moved"
    assert page.inner_text(".card[data-step=first] .mark") == "~ changed"
    page.click(".card[data-step=first]")
    page.wait_for_selector(".work.open")
    assert page.locator("ins").all_inner_texts() == [" Carefully."]
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel-tabs [aria-current]:has-text('A step')")
    page.keyboard.press("4")
    page.wait_for_selector("[data-choice=change][aria-current]")
    assert page.locator("ins").all_inner_texts() == [" Carefully."]
    page.click(".ghost")
    page.wait_for_selector(".work.open:has-text('Step is gone')")
    assert "Plan it." in page.inner_text(".work.open .all-gone"), "its text is kept"


def test_phases_fold_by_the_titles_of_their_steps(page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path, phased())
    assert main(["studio", "workflows", "--isolated", "--output", "page.html"]) == 0
    page.goto(f"{(tmp_path / 'page.html').as_uri()}#demo.phased?layer=findings")
    page.wait_for_selector(".phase-mark")
    assert page.locator(".phase-mark").all_inner_texts() == ["Phase 1", "Phase 2"], "phase 3 is one step"
    cards = page.locator(".canvas .card")
    shown = [card.get_attribute("data-step") for card in cards.all()]
    page.click(".phase-mark >> nth=0")
    page.wait_for_selector(".frame.phase.is-folded")
    assert page.inner_text(".frame.phase strong >> nth=0") == "Phase 1"
    assert "4 steps" in page.inner_text(".frame.phase")
    left = [card.get_attribute("data-step") for card in cards.all()]
    assert left == [ident for ident in shown if ident not in ("first", "small-way", "large-way", "more")]
    assert page.evaluate(
        """() => {
          const drawn = [...document.querySelectorAll('.canvas .card, .canvas .is-folded')];
          const boxes = drawn.map(each => each.getBoundingClientRect());
          return boxes.every((a, at) => boxes.slice(at + 1).every(b => b.top >= a.bottom || a.top >= b.bottom));
        }"""
    )
    page.click(".zoom >> text=unfold")
    page.wait_for_selector(".phase-mark >> nth=1")
    page.click(".zoom >> text=fold")
    page.wait_for_selector(".is-folded >> nth=1")
    assert [card.get_attribute("data-step") for card in cards.all()] == ["last"]


def test_a_watched_page_loads_itself_again_when_its_file_changed(tab: Any, tmp_path: Path) -> None:
    document, file = branching(), tmp_path / "page.html"

    def build() -> None:
        write_project(tmp_path, document)
        checked = ["studio", str(tmp_path / "workflows"), "--isolated", "--format", "json", "--output"]
        assert main([*checked, str(tmp_path / "page.json")]) == 0
        data = json.loads((tmp_path / "page.json").read_text())
        file.write_text(page_of({**data, "watched": str(document["name"])}, "x"), encoding="utf-8")

    build()
    tab.add_init_script("globalThis.setInterval = look => { globalThis.look = look; };")
    tab.goto(f"{file.as_uri()}#demo.branching/first")
    tab.evaluate("globalThis.answers = 0; addEventListener('message', () => { answers += 1; })")
    for answers in (1, 2):
        tab.evaluate("look()")
        # Nothing changed, and this is still the same page.
        tab.wait_for_function("answers => globalThis.answers === answers", arg=answers)
    document["name"] = "Branching, again"
    build()
    tab.evaluate("look()")
    tab.wait_for_selector("h1:text-is('Branching, again')")
    assert tab.inner_text("#step-title") == document["steps"][0]["title"], "the reader stays at the same step"


def test_no_boxes_overlap_and_no_text_is_clipped_as_drawn(opened: Any, built: Any) -> None:
    for workflow in built[1]["workflows"]:
        go(opened, workflow["id"])
        wrong = opened.evaluate(
            """() => {
              const drawn = document.querySelectorAll('.canvas .card, .canvas .label');
              const boxes = [...drawn].map(e => [e, e.getBoundingClientRect()]);
              const wrong = [];
              boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
                if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1)
                  wrong.push(a.textContent + ' / ' + b.textContent);
              }));
              for (const label of document.querySelectorAll('.canvas .label > span:not(.mark)'))
                if (label.scrollWidth > label.parentElement.clientWidth + 1)
                  wrong.push('clipped: ' + label.textContent);
              return wrong;
            }"""
        )
        assert wrong == []


VIEWS = (
    "",
    "demo.branching",
    "demo.branching/first",
    "~runs",
    "~run/refine-twice/4",
    "~run/conflict-decided",
    "~goldens",
    "~catalog",
    "~locks",
)


@pytest.mark.search
@pytest.mark.parametrize(
    ("width", "scheme", "views"),
    # Every day each view is looked at in one of the two ways.
    [(1400, "light", VIEWS[:: times(2, deep=1)]), (390, "dark", VIEWS[times(1, deep=0) :: times(2, deep=1)])],
)
def test_axe_finds_nothing(page: Any, built: Any, width: int, scheme: str, views: tuple[str, ...]) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.goto(built[0].as_uri())
    for address in views:
        go(page, address)
        if address in ("~runs", "~catalog", "~locks"):  # many rows alike, and axe looks at each of them
            page.fill("main input[type=search]", "loop")
        assert axe_violations(page) == [], address


def test_a_phone_shows_the_steps_as_a_list(page: Any, built: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{built[0].as_uri()}#demo.branching")
    assert page.locator(".canvas").count() == 0
    assert page.locator(".steps-list .card").count() == 9
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click(".steps-list .card >> nth=1")
    page.wait_for_selector("text=All steps")
    assert not page.is_visible(".steps-list")
