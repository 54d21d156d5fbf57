"""Mutants: every small change of a workflow, and whether scenarios notice it."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from control_mutants import control_mutants
from planted import compiled

from pytest_workrail.cli import main
from pytest_workrail.explore.mutation_operators import (
    OPERATORS,
    Mutant,
    injections_of,
    middle_sentence,
    mutants,
    without_injected,
)
from pytest_workrail.explore.mutation_report import SoundRuns, missing_scenario, perform, pieces, stryker_file
from pytest_workrail.explore.mutation_verdicts import (
    Baseline,
    Verdict,
    baseline,
    concerned,
    inert_reason,
    mutant_keys,
    notices,
    verdict_of_mutant,
)
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.model.build import program_model

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = sorted((ROOT / "fixtures" / "workflows").glob("*.json"))
AUTO = [{"name": "auto", "value": {"workflow": "w.json"}}]
EITHER = {"or": [{"var": "size", "equals": "large"}, {"var": "risk", "equals": "high"}]}


def fixture(path: Path) -> tuple[dict[str, Any], Any]:
    made = compile_workflow(path, routines=ROOT / "fixtures" / "routines")
    assert isinstance(made, Ok)
    return made.value.ir, injections_of(made.value)


def judged(ir: dict[str, Any], scenarios: list[Any], injections: Any = None, search: int = 60) -> list[dict[str, Any]]:
    ids = [mutant.id for mutant in mutants(ir, injections)]
    payload = {"ir": ir, "injections": injections or {}, "scenarios": scenarios, "profiles": ["reference", "locked"]}
    made: list[Any] = [perform({**piece, "search": search}) for piece in pieces(0, payload, ids)]  # type: ignore[dict-item]
    return [result for each in made for result in each["results"]]


def drawn(**more: Any) -> dict[str, Any]:
    """A workflow of three steps with whatever is asked for on the second one."""
    steps = [
        {"id": "plan", "title": "Plan", "prompt": "Plan it. Write it down."},
        {"id": "review", "title": "Review", "prompt": "Review it. Be strict. Tell all.", **more},
        {"id": "ship", "title": "Ship", "prompt": "Ship it."},
    ]
    value = {"id": "release", "name": "r", "description": "d", "version": "1.0.0", "steps": steps}
    made = compile_workflow(value)
    assert isinstance(made, Ok), made.error
    return made.value.ir


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_every_mutant_differs_has_its_own_id_and_is_of_the_closed_set(path: Path) -> None:
    ir, injections = fixture(path)
    before = json.dumps(ir)
    found = mutants(ir, injections)
    assert len({mutant.id for mutant in found}) == len(found)
    # Conditions of gates, fragments and loops have the operators of conditions under their own prefix.
    prefixes = ("", "GAT-", "FRG-", "LOP-")
    known = {*OPERATORS, *(f"{prefix}{name}" for prefix in prefixes for name in OPERATORS if "CND" in name)}
    for mutant in found:
        assert mutant.operator in known
        assert mutant.apply(ir) != ir
    assert json.dumps(ir) == before
    assert found == mutants(ir, injections)


def test_every_operator_has_a_mutant_somewhere() -> None:
    more_fixtures = (ROOT / "fixtures" / "scenarios" / "workflows").glob("*.json")
    seen = Counter(mutant.operator for path in (*FIXTURES, *more_fixtures) for mutant in mutants(*fixture(path)))
    for more in (
        {"runCondition": {"and": [{"var": "n", "gt": 3}, {"var": "size", "equals": "large"}]}},
        {"requireConfirmation": {"or": [{"var": "risk", "equals": "high"}, {"var": "force", "equals": True}]}},
        {
            "validationCriteria": [
                {"type": "contains", "value": "ok", "message": "say ok"},
                {"type": "length", "min": 4, "message": "longer"},
            ]
        },
    ):
        seen += Counter(mutant.operator for mutant in mutants(drawn(**more)))
    assert set(OPERATORS) <= set(seen)


def test_one_automatic_run_notices_less_than_all_and_every_survivor_has_a_scenario() -> None:
    ir = drawn(requireConfirmation=EITHER)
    results = judged(ir, AUTO)
    statuses = Counter(each["status"] for each in results)
    assert statuses["killed"] > statuses["survived"] > 0
    assert statuses["inert-bounded"] == 0
    for each in results:
        if each["status"] == "survived":
            mutant = next(mutant for mutant in mutants(ir) if mutant.id == each["id"])
            scenario = baseline("missing", {"workflow": "w.json", **each["missing"]}, ir)
            assert notices(scenario, mutant.apply(ir)) is not None


def test_with_the_missing_scenarios_nothing_survives() -> None:
    ir = drawn(requireConfirmation=EITHER)
    missing = [each["missing"] for each in judged(ir, AUTO) if each["status"] == "survived"]
    suite = [{"name": f"s{n}", "value": {"workflow": "w.json", **each}} for n, each in enumerate(missing)]
    again = judged(ir, [*AUTO, *suite])
    assert not [each["id"] for each in again if each["status"] == "survived"]


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_no_control_mutant_is_noticed(path: Path) -> None:
    ir, _ = fixture(path)
    scenario = baseline("auto", {"workflow": "w.json"}, ir)
    controls = list(control_mutants(ir))
    assert controls
    assert [mutant.id for mutant in controls if notices(scenario, mutant.apply(ir)) is not None] == []


@pytest.mark.parametrize("name", ["decision", "conditions", "assessed"])
def test_what_is_proved_inert_is_noticed_by_no_run(name: str) -> None:
    ir = compiled(name)
    for mutant in mutants(ir):
        if inert_reason(mutant, program_model(ir), ["reference", "locked"]) is not None:
            assert missing_scenario(mutant, SoundRuns(ir), ["reference", "locked"], 40) is None, mutant.id


@pytest.mark.parametrize(
    ("condition", "operator", "inert"),
    [
        ({"and": [{"var": "a", "equals": 1}, {"var": "a", "equals": 2}]}, "STP-DROP", True),
        ({"var": "a", "equals": 1}, "STP-DROP", False),
        ({"or": [{"var": "a", "equals": "x"}, {"var": "a", "in": ["x", "y"]}]}, "CND-MEMBER-DROP", True),
        ({"or": [{"var": "a", "equals": "x"}, {"var": "b", "equals": "y"}]}, "CND-MEMBER-DROP", False),
        ({"and": [{"var": "a", "equals": "x"}, {"var": "b", "equals": "y"}]}, "CND-MEMBER-DROP", False),
        ({"var": "a", "equals": 1}, "CND-DROP", False),
        ({"or": [{"var": "a", "gt": 1}, {"var": "a", "lte": 1}, {"not": {"var": "a", "gt": 1}}]}, "CND-DROP", True),
    ],
)
def test_inertness_is_proved_and_never_guessed(condition: Any, operator: str, inert: bool) -> None:
    ir = drawn(runCondition=condition)
    mutant = next(each for each in mutants(ir) if each.operator == operator and each.place == "review")
    assert (inert_reason(mutant, program_model(ir), ["reference"]) is not None) is inert


@pytest.mark.parametrize(
    ("loop", "context"),
    [
        ({"type": "for", "count": "many"}, {"many": 4}),
        ({"type": "forEach", "items": "things"}, {"things": [{"name": f"item {number}"} for number in range(4)]}),
    ],
)
@pytest.mark.parametrize("mutant_id", ["LOP-LIMIT+1:rounds", "LOP-LIMIT-1:rounds"])
def test_another_limit_is_noticed_by_a_run_with_one_element_more(loop: Any, context: Any, mutant_id: str) -> None:
    body = [{"id": "inner", "title": "Inner", "prompt": "Do it."}]
    ir = drawn_loop({**loop, "maxIterations": 3}, body)
    (mutant,) = [each for each in mutants(ir) if each.id == mutant_id]
    missing = missing_scenario(mutant, SoundRuns(ir), ["reference"])
    assert missing is not None
    assert missing["context"] == context
    assert missing["expect"] == {"status": "complete", "steps": ["inner"] * 3}


def drawn_loop(loop: dict[str, Any], body: list[dict[str, Any]]) -> dict[str, Any]:
    steps = [{"id": "rounds", "type": "loop", "title": "Rounds", "loop": loop, "body": body}]
    made = compile_workflow({"id": "rounds", "name": "r", "description": "d", "version": "1.0.0", "steps": steps})
    assert isinstance(made, Ok), made.error
    return made.value.ir


def test_the_verdict_on_a_swap_depends_on_both_of_its_steps() -> None:
    """A cached verdict counts only while the step, its neighbours and the scenarios are the same."""
    ir = drawn()
    payload = {"ir": ir, "profiles": ["reference"], "scenarios": AUTO}
    (swap,) = [each for each in mutants(ir) if each.id == "STP-SWAP:plan"]

    def key(**changed: Any) -> str:
        return mutant_keys([swap], {**payload, **changed})[swap.id]

    first, second, third = ir["steps"]
    other = {"prompt": "Do something else."}
    assert key() == key(ir={**ir, "steps": [first, second, {**third, **other}]})
    for changed in ({"steps": [{**first, **other}, second, third]}, {"steps": [first, {**second, **other}, third]}):
        assert key() != key(ir={**ir, **changed})
    assert key() != key(scenarios=[])
    assert key() != key(profiles=["locked"])


def test_of_a_change_that_only_a_text_shows_goldens_are_asked_and_no_further_scenario_without() -> None:
    ir = drawn()
    (mutant,) = [each for each in mutants(ir) if each.operator == "PRM-SENTENCE-DROP" and each.place == "review"]
    quiet = {"workflow": "w.json", "golden": False, "expect": {"status": "complete"}}
    scenarios = [baseline(name, quiet, ir) for name in ("one", "two")]
    assert verdict_of_mutant(mutant, ir, scenarios) == Verdict("one", "unchecked", True, 1)
    asked = verdict_of_mutant(mutant, ir, [*scenarios, baseline("three", {**quiet, "golden": True}, ir)])
    assert asked == Verdict("three", "golden", True, 2)


def test_a_change_that_only_a_text_shows_is_unchecked_without_a_golden() -> None:
    ir = drawn()
    scenario = {"name": "quiet", "value": {"workflow": "w.json", "golden": False, "expect": {"status": "complete"}}}
    (prompt,) = [
        each for each in judged(ir, [scenario]) if each["operator"] == "PRM-SENTENCE-DROP" and each["place"] == "review"
    ]
    assert (prompt["status"], prompt["noticed"]) == ("killed", "unchecked")


def test_the_middle_sentence_is_left_out_whole() -> None:
    assert middle_sentence("Review it. Be strict. Tell all.") == " Be strict."
    assert middle_sentence("Review it. Tell all.") == " Tell all."
    assert middle_sentence("One sentence.") is None
    assert dict(without_injected("abcdef", [("ref 'x'", 0, 2), ("ref 'x'", 4, 6), ("ref 'y'", 1, 1)])) == {
        "ref 'x'": "cd"
    }


# ---------------------------------------------------------------------------------------------------------- the command


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(ROOT / "fixtures" / "workflows" / "code-review.json", tmp_path / "review.json")
    scenario = {"workflow": "review.json", "agent": {"kind": "auto"}}
    (tmp_path / "plain.scenario.json").write_text(json.dumps(scenario))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_report_has_its_members_and_is_the_same_in_all_ways_to_run_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mutate", "review.json", "--json", "--no-cache"]) == 0
    first = capsys.readouterr().out
    (report,) = json.loads(first)["workflows"]
    assert report["mutants"] == report["killed"] + report["inert"] + len(report["survived"])
    assert report["killed"] > 10
    compiled_now = compile_workflow(project / "review.json", routines=ROOT / "fixtures" / "routines")
    assert isinstance(compiled_now, Ok)
    assert report["workflowHash"] == compiled_now.value.hash
    assert main(["mutate", "review.json", "--json", "--no-cache", "--jobs", "2"]) == 0
    assert capsys.readouterr().out == first


@pytest.mark.deep
def test_a_cluster_reports_the_same(project: Path, capsys: pytest.CaptureFixture[str], scheduler: str) -> None:
    assert main(["mutate", "review.json", "--json", "--no-cache"]) == 0
    first = capsys.readouterr().out
    assert main(["mutate", "review.json", "--json", "--no-cache", "--scheduler", scheduler]) == 0
    assert capsys.readouterr().out == first


def test_only_what_changed_is_judged_again(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_workrail.cli import mutate

    counted: list[int] = []
    sound = mutate.perform

    def perform(args: Any, task: str, work: Any, *words: Any) -> Any:
        counted.append(sum(len(piece["mutants"]) for piece in work))
        return sound(args, task, work, *words)

    monkeypatch.setattr(mutate, "perform", perform)
    assert main(["mutate", "review.json", "--json"]) == 0
    first = capsys.readouterr().out
    assert main(["mutate", "review.json", "--json"]) == 0
    assert capsys.readouterr().out == first
    text = (project / "review.json").read_text()
    value = json.loads(text)
    value["steps"][-1]["prompt"] += " Mention what you left out."
    (project / "review.json").write_text(json.dumps(value))
    assert main(["mutate", "review.json", "--json"]) == 0
    assert counted[0] > counted[2] > counted[1] == 0


def test_survivors_are_named_written_and_then_gone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(ROOT / "fixtures" / "workflows" / "bug-triage.json", project / "review.json")
    assert main(["mutate", "review.json", "--fail-under", "98"]) == 1
    shown = capsys.readouterr()
    assert "no scenario would notice" in shown.out
    assert "is below 98 %" in shown.err
    assert main(["mutate", "review.json", "--json"]) == 0
    survived = json.loads(capsys.readouterr().out)["workflows"][0]["survived"]
    assert survived
    assert all(each["change"].startswith(f"If {each['words']}, no scenario") for each in survived)
    assert main(["mutate", "review.json", "--write"]) == 0
    written = sorted(project.glob("review.notices-*.scenario.json"))
    assert written
    assert main(["mutate", "review.json", "--fail-under", "98"]) == 0
    from workrail_lint.cli import main as lint

    assert lint(["check", "--isolated", *map(str, written)]) == 0


def test_the_stryker_report_names_real_places_and_the_page_is_harmless(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mutate", "review.json", "--report", "mutation.json", "--html", "mutation.html"]) == 0
    report = json.loads((project / "mutation.json").read_text())
    assert report["schemaVersion"] == "2"
    file = report["files"]["review.json"]
    lines = file["source"].splitlines()
    statuses = {"Killed", "Survived", "NoCoverage", "Ignored"}
    for mutant in file["mutants"]:
        assert mutant["status"] in statuses
        assert mutant["statusReason"]
        start, end = mutant["location"]["start"], mutant["location"]["end"]
        assert 1 <= start["line"] <= end["line"] <= len(lines)
    prompts = [each for each in file["mutants"] if each["mutatorName"] == "PRM-SENTENCE-DROP"]
    assert all('"' in lines[each["location"]["start"]["line"] - 1] for each in prompts)
    page = (project / "mutation.html").read_text()
    assert page.startswith("<!doctype html>")
    found = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    (workflow,) = data["workflows"]
    assert (data["views"], data["start"]) == (["workflow"], f"{workflow['id']}?layer=mutants")
    survived = [mutant["statusReason"] for mutant in file["mutants"] if mutant["status"] == "Survived"]
    assert len(workflow["mutation"]["survived"]) == len(survived)


@pytest.mark.parametrize(
    ("pointer", "line"),
    [
        ("/steps/0/prompt", '"prompt": "Plan it."'),
        ("/steps/0/confirmation", '"requireConfirmation": true'),
        ("/steps/0/fragments/0/when", '"when": {'),
        ("/steps/0/notes", '"notesOptional": true'),
        ("/steps/1/loop/maxIterations", '"maxIterations": 3'),
        ("/steps/1/body/0/confirmation", '"requireConfirmation": false'),
        # What the author did not write is where it belongs.
        ("/steps/1/body/0/unwritten", "{"),
        ("/unwritten", "{"),
    ],
)
def test_a_mutant_is_where_its_author_wrote_what_it_changes(pointer: str, line: str) -> None:
    plan = {
        "id": "plan",
        "title": "Plan",
        "prompt": "Plan it.",
        "requireConfirmation": True,
        "notesOptional": True,
        "promptFragments": [{"id": "more", "text": "More.", "when": {"var": "size", "equals": "large"}}],
    }
    inner = {"id": "inner", "title": "Inner", "prompt": "Do it.", "requireConfirmation": False}
    loop = {"type": "for", "count": 2, "maxIterations": 3}
    rounds = {"id": "rounds", "type": "loop", "title": "Rounds", "loop": loop, "body": [inner]}
    value = {"id": "places", "name": "p", "description": "d", "version": "1.0.0", "steps": [plan, rounds]}
    text = json.dumps(value, indent=1)
    made = compile_workflow(value)
    assert isinstance(made, Ok), made.error
    result = {"id": "M:1", "operator": "M", "change": "c", "pointer": pointer, "status": "inert", "reason": "because"}
    (mutant,) = stryker_file(text.encode(), made.value, [result])["mutants"]
    start, end = mutant["location"]["start"], mutant["location"]["end"]
    lines = text.splitlines(keepends=True)
    assert lines[start["line"] - 1].strip().rstrip(",") == line
    # From its first character to behind its last one it is a whole value.
    first, last = (sum(map(len, lines[: at["line"] - 1])) + at["column"] - 1 for at in (start, end))
    json.loads(text[first:last])
    assert (mutant["status"], mutant["statusReason"]) == ("Ignored", "because")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["review.json", "--fail-under", "101"], 2, "0 to 100"),
        (["review.json", "--scenarios", "nowhere"], 2, "no folder nowhere"),
        (["absent.json"], 2, "absent.json"),
        (["."], 0, ""),
    ],
)
def test_a_bad_call_gets_its_exit_code(
    project: Path, arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mutate", *arguments]) == code
    assert said in capsys.readouterr().err


def test_a_scenario_that_does_not_hold_is_an_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {"workflow": "review.json", "expect": {"status": "blocked"}}
    (project / "wrong.scenario.json").write_text(json.dumps(wrong))
    assert main(["mutate", "review.json", "--no-cache"]) == 2
    assert "wrong.scenario.json does not hold on the workflow as it is" in capsys.readouterr().err


def test_a_scenario_notices_a_step_that_it_never_comes_to() -> None:
    """The agent ends the loop at its first step, and at its second one when that step always runs."""
    ir, injections = fixture(ROOT / "fixtures" / "workflows" / "wait-for-green.json")
    plain = baseline("plain", {"workflow": "w.json", "expect": {"steps": ["run-checks"]}}, ir)
    found = {mutant.operator: mutant for mutant in mutants(ir, injections) if mutant.place.endswith("/fix-failure")}
    assert plain.places == {"until-green", "until-green/run-checks"}
    assert verdict_of_mutant(found["CND-DROP"], ir, [plain]) == Verdict("plain", "expectation", True, 1)
    assert verdict_of_mutant(found["NTS-FLIP"], ir, [plain]) == Verdict(None, None, False, 1)


@pytest.mark.deep
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_runs_proposed_for_survivors_leave_none(path: Path) -> None:
    ir, injections = fixture(path)
    missing = [each["missing"] for each in judged(ir, AUTO, injections, 100) if each["status"] == "survived"]
    suite = [{"name": f"s{n}", "value": {"workflow": "w.json", **each}} for n, each in enumerate(missing)]
    again = judged(ir, [*AUTO, *suite], injections, 100)
    assert not [each["id"] for each in again if each["status"] == "survived"]


def test_the_scenario_that_shows_most_about_a_place_for_its_length_comes_first() -> None:
    def scenario(name: str, length: int, shown: int, *places: str) -> Baseline:
        return Baseline(name, {}, {}, False, None, frozenset(places), length, Counter({"review": shown}))

    mutant = Mutant("remove-step", "review", ("steps", 1), None, "step 'review' is removed", ("steps", 1), ("plan",))
    scenarios = [
        scenario("a-short", 4, 0, "review"),  # 4
        scenario("b-thorough", 9, 8, "review"),  # 1
        scenario("c-long", 9, 1, "review"),  # 4.5
        scenario("d-beside", 2, 0, "plan"),  # 2
        scenario("e-elsewhere", 1, 5, "ship"),
    ]
    found = [each.name for each in concerned(mutant, scenarios)]
    assert found == ["b-thorough", "d-beside", "a-short", "c-long"]
