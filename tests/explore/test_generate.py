"""Generated scenarios: they show every goal, pass as they are written, and stay as they are."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from planted import compiled

from pytest_workrail import api
from pytest_workrail.agents.agent import Exchange, Stop
from pytest_workrail.cli import main
from pytest_workrail.coverage.goals import (
    BlockerGoal,
    DecidesGoal,
    FragmentGoal,
    GapGoal,
    GateGoal,
    LoopGoal,
    OrderGoal,
    StepGoal,
    goals,
)
from pytest_workrail.coverage.points import Point
from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES
from pytest_workrail.explore.generation import (
    RunCost,
    Selected,
    costs,
    description,
    generate,
    generation_piece,
    run_cost,
    scenario_document,
    scenario_name,
    scenario_showing,
    smallest_cover,
)
from pytest_workrail.explore.guide import Guide
from pytest_workrail.explore.planner import PREFERENCES, Planner
from pytest_workrail.explore.runs import Plan, PlayedTurn, record
from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.scenarios.drivers import play
from workrail_lint import Ok, compile_workflow
from workrail_lint import check as lint
from workrail_lint.base.js import json_text
from workrail_lint.systems.workrail.model.build import program_model

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
SHARED = Path(os.environ.get("WORKRAIL_CORPUS") or FIXTURES.parent.parent / "shared")
FEW = ("release", "refine-until-clean", "code-review", "wait-for-green")

RELEASE = {
    "id": "demo.release",
    "name": "Release",
    "description": "Plans, reviews what is large, and ships.",
    "version": "1.0.0",
    "steps": [
        {"id": "plan", "title": "Plan", "prompt": "Plan the release and set `size` to small or large."},
        {
            "id": "review",
            "title": "Review",
            "prompt": "Review the plan.",
            "runCondition": {"var": "size", "equals": "large"},
        },
        {"id": "ship", "title": "Ship", "prompt": "Ship it."},
    ],
}


def workflows() -> dict[str, Path]:
    paths = [*FIXTURES.glob("workflows/*.json"), *FIXTURES.glob("scenarios/workflows/*.json")]
    paths += (SHARED / "corpus" / "workflows").rglob("*.json")
    return {path.stem: path for path in sorted(paths)}


def each_workflow() -> list[Any]:
    """A few for every day, and in the deep ring all of ours and of the corpus."""
    return [name if name in FEW else pytest.param(name, marks=pytest.mark.deep) for name in workflows()]


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return written(tmp_path / "release.json", RELEASE)


def written(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.scenario.json"))}


def result(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["generate", *arguments, "--json"]) == 0
    (workflow,) = json.loads(capsys.readouterr().out)["workflows"]
    return workflow


@pytest.mark.parametrize("name", each_workflow())
def test_every_goal_is_covered_or_infeasible_and_every_scenario_passes_twice(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = workflows()[name]
    if not isinstance(compile_workflow(path, routines=FIXTURES / "routines"), Ok):
        pytest.skip("the engine refuses this workflow")
    out = tmp_path / "scenarios"
    found = result(capsys, str(path), "--out", str(out))
    assert found["uncovered"] == []
    assert found["covered"] == found["goals"]
    for each in found["scenarios"]:
        runs = [play(out / each["name"], each["name"]) for _ in range(2)]
        for run in runs:
            assert isinstance(run, Ok)
            assert [fault.message for played in (run.value, *run.value.further) for fault in played.faults] == []
        one, two = ([golden_bytes(each.transcript) for each in (run.value, *run.value.further)] for run in runs)
        assert one == two
    assert [finding.message for finding in lint([str(out)]).findings] == []


def test_the_example_of_three_steps(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = result(capsys, "release.json", "--profile", "reference", "--out", "made")
    names = [each["name"] for each in found["scenarios"]]
    assert names[0] == "release.complete.scenario.json"
    assert "release.blocked-by-missing-notes.scenario.json" in names
    complete = read(Path("made") / names[0])
    assert complete["workflow"] == "../release.json"
    assert complete["expect"] == {"status": "complete", "steps": ["plan", "ship", "review"]}, "nothing is left out"
    assert complete["generated"]["by"] == "workrail-test generate"
    blocked = read(Path("made/release.blocked-by-missing-notes.scenario.json"))
    assert list(dict.fromkeys(blocked["expect"]["steps"])) == ["plan", "review", "ship"], "in the order of the document"
    assert set(blocked["expect"]["gaps"]) == {"missing_required_notes"}, "each gap in a branch, or at the end"
    assert {"step": "review", "call": "rewind", "to": "plan"} in blocked["agent"]["turns"]
    assert blocked["agent"]["turns"][0] == {
        "step": "plan",
        "expect": {"answer": "blocked", "blockers": ["MISSING_REQUIRED_NOTES"]},
    }


def test_a_scenario_serves_both_profiles_where_they_agree(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = result(capsys, "release.json", "--out", "made")
    shared = [each["profiles"] for each in found["scenarios"] if "missing-context-key" not in each["name"]]
    assert shared == [["reference", "locked"]] * len(shared)
    assert {tuple(each["profiles"]) for each in found["scenarios"]} == {("reference", "locked"), ("locked",)}
    assert read(Path("made/release.complete.scenario.json"))["profiles"] == ["reference", "locked"]


def test_running_it_again_changes_nothing(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result(capsys, "release.json", "--out", "made")
    before = files(Path("made"))
    again = result(capsys, "release.json", "--out", "made")
    assert again["scenarios"] == again["new"] == again["redundant"] == []
    assert files(Path("made")) == before


def test_what_an_edit_brings_is_added_and_nothing_else_is_touched(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result(capsys, "release.json", "--out", "made")
    before = files(Path("made"))
    steps = [*RELEASE["steps"]]
    steps[2] = {**steps[2], "promptFragments": [{"id": "hint", "text": "Mind it.", "when": {"var": "mind"}}]}
    written(release, {**RELEASE, "steps": steps})
    assert main(["generate", "release.json", "--out", "made", "--check"]) == 1
    assert "feasible and not covered: reference:fragment:ship#hint:shown" in capsys.readouterr().out
    assert files(Path("made")) == before
    added = result(capsys, "release.json", "--out", "made")
    # One of the profiles asks for `size`, so the run sets it: to a value with which both pass the step over.
    assert [each["profiles"] for each in added["scenarios"]] == [["reference", "locked"]]
    assert {name: data for name, data in files(Path("made")).items() if name in before} == before
    assert main(["generate", "release.json", "--out", "made", "--check"]) == 0


def test_what_somebody_edited_is_never_touched(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result(capsys, "release.json", "--out", "made")
    path = Path("made/release.complete.scenario.json")
    edited = {**read(path), "description": "Mine now."}
    written(path, edited)
    written(release, {**RELEASE, "steps": [*RELEASE["steps"], {"id": "tell", "title": "Tell", "prompt": "Tell all."}]})
    found = result(capsys, "release.json", "--out", "made", "--prune")
    assert read(path) == edited
    assert found["edited"] == [path.name]
    assert path.name not in found["pruned"]
    assert all(not name.endswith(".complete.scenario.json") for name in (each["name"] for each in found["scenarios"]))


def test_scenarios_that_others_make_needless_go_only_on_request(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result(capsys, "release.json", "--out", "made")
    source = read(Path("made/release.blocked-by-missing-notes.scenario.json"))
    mine = {name: value for name, value in source.items() if name != "generated"}
    written(Path("made/mine.scenario.json"), mine)
    found = result(capsys, "release.json", "--out", "made")
    assert found["redundant"] == ["release.blocked-by-missing-notes.scenario.json"]
    assert Path("made/release.blocked-by-missing-notes.scenario.json").exists()
    pruned = result(capsys, "release.json", "--out", "made", "--prune")
    assert pruned["pruned"] == ["release.blocked-by-missing-notes.scenario.json"]
    assert Path("made/mine.scenario.json").exists()
    assert not Path("made/release.blocked-by-missing-notes.scenario.json").exists()


def test_the_exit_codes_of_mistakes(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "release.json", "--check"]) == 2
    assert main(["generate", "absent.json"]) == 2
    Path("empty").mkdir()
    assert main(["generate", "empty"]) == 3
    written(Path("broken.json"), {**RELEASE, "steps": []})
    assert main(["generate", "broken.json"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_without_a_folder_nothing_is_written(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "release.json"]) == 0
    assert "not written; add --out DIR" in capsys.readouterr().out
    assert [path.name for path in Path().iterdir()] == ["release.json"]


def test_processes_and_a_cluster_give_the_same_bytes_as_one_process(
    release: Path, capsys: pytest.CaptureFixture[str], scheduler: str
) -> None:
    """The workers of the cluster were started in another folder: a piece has to hold all that it needs."""
    written(Path("second.json"), {**RELEASE, "id": "demo.second"})
    result(capsys, "second.json", "--out", "made", "--profile", "reference")
    printed = []
    for more in (["--jobs", "1"], ["--jobs", "2"], ["--scheduler", scheduler]):
        assert main(["generate", "release.json", "second.json", "--out", "made", "--check", "--json", *more]) == 1
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] == printed[2]


def test_what_a_run_costs(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cost = result(capsys, "release.json")["cost"]
    assert cost["shortest"]["scenario"] == "release.complete.scenario.json"
    assert cost["shortest"]["calls"] == 4, "the start, and one for each step"
    assert cost["longest"]["calls"] >= cost["typical"]["calls"] >= cost["shortest"]["calls"]
    assert cost["shortest"]["tokensRead"] == -(-cost["shortest"]["bytesRead"] // 4)
    assert {each["step"] for each in cost["dearestSteps"]} == {"plan", "review", "ship"}
    assert {each["step"] for each in cost["steps"]} == {"plan", "review", "ship"}
    visits = {each["step"]: each["visits"] for each in cost["steps"]}
    assert (visits["plan"], visits["ship"]) == (1, 1), "the typical run comes to each once"
    assert all((each["bytesRead"] > 0) == (each["visits"] > 0) for each in cost["steps"])
    assert 0 < sum(each["bytesRead"] for each in cost["steps"]) <= cost["typical"]["bytesRead"]
    main(["generate", "release.json"])
    assert "shortest run: 4 calls, reads about" in capsys.readouterr().out


def test_what_is_read_counts_for_the_step_it_shows_and_what_is_written_for_the_step_it_answers() -> None:
    calls: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {"pending": {"stepId": "one"}}),
        ({"notes": "for one"}, {"pending": {"stepId": "two"}}),
        ({"notes": "something longer for two"}, {}),
    ]
    exchanges = [Exchange("continue_workflow", request, response, False) for request, response in calls]
    cost = run_cost("made up", SimpleNamespace(exchanges=exchanges))  # type: ignore[arg-type]
    (start, one), (for_one, two), (for_two, end) = ((len(json_text(a)), len(json_text(b))) for a, b in calls)
    assert cost.steps == {"one": one + for_one, "two": two + for_two + end}
    assert (cost.calls, cost.written, cost.read) == (3, start + for_one + for_two, one + two + end)


def test_the_cost_is_told_again_when_nothing_is_left_to_write(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = result(capsys, "release.json", "--out", "made")["cost"]
    assert result(capsys, "release.json", "--out", "made")["cost"] == first


def test_check_counts_what_the_scenarios_cover(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "release.json", "--out", "made", "--check"]) == 1
    assert "release.json: 30 goals, 0 covered" in capsys.readouterr().out


def test_one_broken_workflow_does_not_keep_the_others(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(Path("broken.json"), {**RELEASE, "steps": []})
    assert main(["generate", "broken.json", "release.json"]) == 2
    printed = capsys.readouterr()
    assert "broken.json does not compile" in printed.err
    assert "release.json: 30 goals, 30 covered" in printed.out


def test_what_comes_after_a_step_that_accepts_nothing_is_shown() -> None:
    """An inline flag is no JavaScript: the engine can't evaluate such a pattern, and refuses whatever is submitted."""
    broken = [{"type": "regex", "pattern": "(?i)done", "message": "say done"}]
    steps = [RELEASE["steps"][0], {**RELEASE["steps"][2], "validationCriteria": broken, "requireConfirmation": True}]
    compiled = compile_workflow({**RELEASE, "steps": [*steps, {"id": "tell", "title": "Tell", "prompt": "Tell all."}]})
    assert isinstance(compiled, Ok), compiled
    _, guides = generate(compiled.value.ir, ("reference", "locked"))
    assert [list(guide.ledger.missing) for guide in guides.values()] == [[], []]


def test_routines_of_the_command_line_are_named_in_the_scenarios(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    routines = FIXTURES / "routines"
    (made, *_) = result(capsys, "release.json", "--routines", str(routines), "--out", "made")["scenarios"]
    assert (Path("made") / made["document"]["routines"]).resolve() == routines
    assert isinstance(play(Path("made") / made["name"], made["name"]), Ok)


def test_routines_of_the_project_are_named_in_scenarios_outside_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = FIXTURES / "workflows" / "upgrade-service.json", tmp_path / "made"
    (made, *_) = result(capsys, str(source), "--out", str(out))["scenarios"]
    assert (out / made["document"]["routines"]).resolve() == FIXTURES / "routines"
    assert isinstance(play(out / made["name"], made["name"]), Ok)


def test_members_that_decide_and_the_order_of_neighbours_are_covered() -> None:
    either = {"or": [{"var": "size", "equals": "large"}, {"var": "risk", "equals": "high"}]}
    steps = [RELEASE["steps"][0], {**RELEASE["steps"][1], "runCondition": either}, RELEASE["steps"][2]]
    compiled = compile_workflow({**RELEASE, "steps": steps})
    assert isinstance(compiled, Ok)
    _, guides = generate(compiled.value.ir, ("reference",))
    ledger = guides["reference"].ledger
    assert not ledger.missing
    decides = [point.case for point in ledger.goals if point.kind is DecidesGoal]
    assert decides == ["/or/0 true", "/or/0 false", "/or/1 true", "/or/1 false"]
    assert [point.name for point in ledger.goals if point.kind is OrderGoal] == [
        "order:plan:review",
        "order:review:ship",
    ]


@pytest.mark.parametrize("profile", ["reference", "locked"])
def test_a_planned_run_shows_no_goal_that_was_not_expected_of_it(profile: ProfileName) -> None:
    """What is expected of a run and not shown is not tried again in this mode: nothing may be forgotten here."""
    first, review, last = RELEASE["steps"]
    either = {"or": [{"var": "risk", "equals": "high"}, {"var": "force", "equals": True}]}
    fragment = {"id": "more", "text": "More.", "when": {"or": [{"var": "size", "equals": "large"}, {"var": "late"}]}}
    asks = {**last, "requireConfirmation": either, "promptFragments": [fragment]}
    made = compile_workflow({**RELEASE, "steps": [first, review, asks]})
    assert isinstance(made, Ok), made.error
    guide = Guide(made.value.ir, profile)
    kinds = (StepGoal, GateGoal, FragmentGoal, DecidesGoal)
    goals = {point for point in guide.ledger.goals if point.kind in kinds}
    shown: set[str] = set()
    while guide.ledger.missing:
        planner = Planner(guide, "guided")
        points = record(guide.ir, profile, PREFERENCES["guided"], planner).points
        assert points & goals <= planner.expected
        if not guide.ledger.cover(points):
            break
        shown |= {point.name for point in points & goals}
    assert shown >= {"gate:ship:asked", "gate:ship:free", "fragment:ship#more:shown", "fragment:ship#more:hidden"}


def test_of_two_runs_that_show_the_same_the_shorter_one_is_kept() -> None:
    run = api.run(RELEASE)
    one, other = (Point(StepGoal, place, "done") for place in ("one", "other"))

    def plan(size: int, *points: Point) -> Plan:
        shown = frozenset(points)
        turns = tuple(PlayedTurn("one", Stop("")) for _ in range(size))
        return Plan(DEFAULT_PREFERENCES, {}, turns, run, shown, ("reference",), {"reference": shown})

    long, short, partial = plan(9, one, other), plan(2, one, other), plan(1, one)
    wanted = [("reference", one), ("reference", other)]
    (selected,) = smallest_cover([long, short, partial], wanted, keep_first=False)
    assert selected.plan is short
    assert selected.unique == tuple(wanted)
    first, *others = smallest_cover([partial, long, short], wanted)
    assert first.plan is partial, "the first run is the one to the end, and stays"
    assert [each.plan for each in others] == [short]
    # What no run shows stays open, and what a run shows beside the others is no reason to keep it.
    unseen = ("reference", Point(StepGoal, "unseen", "done"))
    (selected,) = smallest_cover([short, partial], [unseen, *wanted], keep_first=False)
    assert (selected.plan, selected.unique) == (short, tuple(wanted))
    assert smallest_cover([], wanted) == []


def test_the_middle_run_is_typical_and_five_steps_are_the_dearest() -> None:
    steps = [{"a": 1, "b": 9}, {"a": 5, "c": 4}, {"d": 4}, {"e": 8, "f": 3, "g": 2}]
    calls = (7, 3, 3, 5)
    runs = [
        RunCost(f"run-{at}", count, 40 + at, 10 - at, each)
        for at, (count, each) in enumerate(zip(calls, steps, strict=True))
    ]
    found: Any = costs(runs)
    assert [found[name]["scenario"] for name in ("shortest", "typical", "longest")] == ["run-1", "run-2", "run-0"]
    assert [(each["step"], each["bytes"], each["tokens"]) for each in found["dearestSteps"]] == [
        ("b", 9, 3), ("e", 8, 2), ("a", 5, 2), ("c", 4, 1), ("d", 4, 1),
    ]  # fmt: skip
    assert [each["step"] for each in found["steps"]] == ["b", "e", "a", "c", "d", "f", "g"]
    assert found["shortest"] == {
        "scenario": "run-1", "calls": 3, "bytesRead": 41, "bytesWritten": 9, "tokensRead": 11, "tokensWritten": 3,
    }  # fmt: skip
    assert costs([]) == {}


def test_a_scenario_says_only_what_is_not_usual() -> None:
    run = api.run(RELEASE)

    def document(profiles: Any, preferences: Any = DEFAULT_PREFERENCES, context: Any = None) -> dict[str, Any]:
        plan = Plan(preferences, context or {}, (), run, frozenset(), profiles, {})
        made = scenario_document(Selected(plan, ()), "Why.", {"workflow": "w.json"}, golden=False)
        return {name: value for name, value in made.items() if name in ("profile", "profiles", "mode", "context")}

    assert document(("reference",)) == {}
    assert document(("locked",)) == {"profile": "locked"}
    assert document(("locked", "reference")) == {"profiles": ["reference", "locked"]}
    never_stop = PREFERENCES["full_auto_never_stop"]
    assert document(("reference",), never_stop, {"a": 1}) == {"mode": "full_auto_never_stop", "context": {"a": 1}}


NOTES, OUTPUT, FOREIGN = "MISSING_REQUIRED_NOTES", "MISSING_REQUIRED_OUTPUT", "USER_ONLY_DEPENDENCY"


@pytest.mark.parametrize(
    ("points", "context", "name"),
    [
        ([(BlockerGoal, "rounds/fix", NOTES)], {"risk": "high"}, "fix-blocked-by-missing-notes"),
        ([(BlockerGoal, "one", NOTES), (BlockerGoal, "two", OUTPUT)], {}, "blocked-by-missing-notes"),
        ([(StepGoal, "one", "done"), (BlockerGoal, "one", "OF_TOMORROW")], {}, "one-blocked-by-of-tomorrow"),
        ([(BlockerGoal, "one", NOTES), (BlockerGoal, "two", FOREIGN)], {}, "approval"),
        ([(LoopGoal, "rounds", "limit"), (BlockerGoal, "one", NOTES)], {}, "loop-limit"),
        ([(GapGoal, "one", "missing_required_notes")], {}, "gaps-missing-notes"),
        ([(GapGoal, "one", "missing_required_notes"), (GapGoal, "two", "of_tomorrow")], {}, "gaps-never-stop"),
        ([(LoopGoal, "rounds", "one"), (LoopGoal, "others", "zero")], {}, "rounds-once"),
        ([(LoopGoal, "rounds", "many"), (LoopGoal, "others", "one")], {}, "rounds-many-iterations"),
        ([(StepGoal, "one", "done")], {"items": [1], "risk": "Very High!"}, "risk-very-high"),
        ([(StepGoal, "one", "done"), (StepGoal, "two", "done")], {}, "one-done"),
        ([], {}, "more"),
        ([(StepGoal, "x" * 59, "done")], {}, "x" * 59),
        ([(StepGoal, "x" * 61, "done")], {}, "x" * 60),
    ],
)
def test_a_scenario_is_named_after_what_only_it_shows(points: list[Any], context: dict[str, Any], name: str) -> None:
    shown = tuple((cast("ProfileName", "reference"), Point(*point)) for point in points)
    selected = Selected(Plan(DEFAULT_PREFERENCES, context, (), api.run(RELEASE), frozenset(), (), {}), shown)
    assert scenario_name(selected, False, ()) == name
    assert scenario_name(selected, True, ()) == "complete"
    other = scenario_name(selected, False, {name})
    assert other != name
    assert scenario_name(selected, False, {name, other}) not in {name, other}
    assert (description(selected, False) == "A run that others cover as well.") == (not points)


def test_names_that_would_be_the_same_say_how_scenarios_differ() -> None:
    never_stop = PREFERENCES["full_auto_never_stop"]
    shown = ((cast("ProfileName", "locked"), Point(LoopGoal, "rounds", "limit")),)

    def named(used: set[str], profiles: Any = ("locked",), preferences: Any = DEFAULT_PREFERENCES) -> str:
        plan = Plan(preferences, {}, (), api.run(RELEASE), frozenset(), profiles, {})
        return scenario_name(Selected(plan, shown), False, used)

    used: set[str] = set()
    for expected in ("loop-limit", "loop-limit-locked", "loop-limit-locked-rounds", "loop-limit-locked-rounds-2"):
        assert named(used) == expected
        used.add(expected)
    assert named({"loop-limit"}, ("reference", "locked")) == "loop-limit-rounds"
    assert named({"loop-limit"}, ("reference", "locked"), never_stop) == "loop-limit-never-stop"


def test_generated_scenarios_start_with_the_inputs(tmp_path: Path) -> None:
    workflow = {
        "id": "demo.inputs",
        "name": "Inputs",
        "description": "Has inputs.",
        "version": "1.0.0",
        "preconditions": ["Inputs: `ticketKey`, `urgency` (low, normal or high)"],
        "steps": [
            {"id": "read-it", "title": "Read it", "prompt": "Read the ticket."},
            {
                "id": "answer",
                "title": "Answer",
                "prompt": "Answer {{ticketKey}}.",
                "runCondition": {"var": "urgency", "equals": "high"},
            },
        ],
    }
    file = tmp_path / "inputs.json"
    file.write_text(json.dumps(workflow))
    assert main(["generate", str(file), "--out", str(tmp_path / "scenarios")]) == 0
    scenarios = [json.loads(path.read_text()) for path in (tmp_path / "scenarios").rglob("*.json")]
    starts = [scenario["context"] for scenario in scenarios if "context" in scenario]
    assert any("ticketKey" in start for start in starts)


@pytest.mark.parametrize("optional", [("width",), ("width", "depth"), ("depth",)], ids=str)
@pytest.mark.parametrize("alone", [True, False])
def test_each_dimension_is_left_out_once_wherever_it_is_declared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], optional: tuple[str, ...], alone: bool
) -> None:
    """Something has to be submitted beside it: another dimension of the same assessment."""
    names = ("width", "depth")
    dimensions = [
        {"id": name, "purpose": name, "levels": ["low", "high"], "required": name not in optional} for name in names
    ]
    refs = ["quality"] if alone else ["risk", "quality"]
    document = {
        **RELEASE,
        "steps": [{"id": "judged", "title": "Judged", "prompt": "Judge it.", "assessmentRefs": refs}],
        "assessments": [{"id": ref, "purpose": ref, "dimensions": dimensions} for ref in refs],
    }
    path, out = str(written(tmp_path / "assessed.json", document)), tmp_path / "scenarios"
    found = result(capsys, path, "--profile", "reference", "--out", str(out))
    assert (found["uncovered"], found["infeasible"]) == ([], [])
    left_out = [goal for goal in found["new"] if "left-out:" in goal]
    assert len(left_out) == len(refs) * len(names)
    # Also where every level was shown already.
    for file in sorted(out.iterdir()):
        file.unlink()
        assert result(capsys, path, "--profile", "reference", "--out", str(out))["uncovered"] == []


def test_a_scenario_that_shows_a_goal() -> None:
    ir = compiled("approval")
    piece = generation_piece("approval.json", ir, ("reference",))
    known = [point.name for point in goals(program_model(ir), PROFILES["reference"])]
    shown = [scenario_showing(piece, name) for name in (known[0], known[-1])]
    assert None not in shown
    assert scenario_showing(piece, "step:nowhere:done") is None
