"""graph and studio: session folders of agent teams, and definitions of blocks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from cli_types import Run

from workrail_lint.systems.workrail.rules.samples import step, workflow

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
SESSION = ".agents-work/2026-05-01_fix-it"
HOSTILE = '<b>"quoted"</b> & `x` \x1b[31m ] --> end; \u202e'
PATH = ["INTAKE", "DESIGN", "APPROVE_DESIGN", "PLAN", "REVIEW_STRATEGY", "IMPLEMENT_LOOP"]
FORMS = ["mermaid", "dot", "svg", "html", "json"]


def _decision(ident: str, state: str, **members: Any) -> dict[str, Any]:
    asked = {"asked_at": "2026-05-01T09:00:00Z", "resolved_at": None, "resolution_reason": None}
    return {"decision_id": ident, "question": f"{ident}?", "status": "pending", "answer": None, **asked} | {
        "state_context": state,
        **members,
    }


def _answered(ident: str, state: str, answer: str) -> dict[str, Any]:
    return _decision(ident, state, status="answered", answer=answer, resolved_at="2026-05-01T09:05:00Z")


def _status(state: str, *decisions: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"current_state": state, "session": "2026-05-01_fix-it", "user_decisions": list(decisions)} | {
        "assumptions": [],
        "known_issues": [],
        "retry_counts": {},
        "last_ci_result": "unknown",
        "last_update": "2026-05-01T10:00:00Z",
        **members,
    }


def _node(ident: str, kind: str = "coding", **members: Any) -> dict[str, Any]:
    config = {"systemPrompt": f"Do {ident}."} | members.pop("config", {})
    place = {"inputs": [], "outputs": [], "position": {"x": 0, "y": 0}}
    return {"id": ident, "type": kind, "label": ident.title(), "config": config, **place, **members}


def _edge(source: str, target: str, kind: str = "always", **more: Any) -> dict[str, Any]:
    condition = {"type": kind, **more}
    return {"id": f"{source}-{target}", "sourceNodeId": source, "targetNodeId": target, "condition": condition}


def _definition(nodes: list[dict[str, Any]], edges: list[dict[str, Any]], **members: Any) -> dict[str, Any]:
    metadata = {"name": "Build it", "version": "1.0.0", "createdAt": "2026-03-01T08:00:00Z", "tags": []}
    about = {"id": "build-it", "metadata": {**metadata, "updatedAt": "2026-03-01T08:00:00Z"}}
    return {**about, "nodes": nodes, "transitions": edges, "gates": [], "variables": [], **members}


def _drawing(run: Run, path: str) -> dict[str, Any]:
    ran = run("graph", path, "--format", "json")
    assert ran.code == 0, ran.err
    data: dict[str, Any] = json.loads(ran.out)
    return data


def _tree(data: dict[str, Any]) -> list[Any]:
    """Return the drawing as names: a frame as its title and what it holds, a branch as its condition."""

    def short(item: dict[str, Any]) -> Any:
        match item["kind"]:
            case "step":
                return item["title"]
            case "branch":
                return {item["text"]: [*map(short, item["items"])]}
            case "switch":
                return {lane["text"]: [*map(short, lane["items"])] for lane in item["lanes"]}
            case _:
                return [item["title"], *map(short, item["items"])]

    return [*map(short, data["tree"])]


# ----------------------------------------------------------------------------------------------------------- teams


def test_a_session_is_drawn_state_by_state(run: Run, tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "team/full/.agents-work", tmp_path / ".agents-work")
    data = _drawing(run, ".agents-work")
    approval = "Do you approve the design? Answer approved, or changes-requested: and what to change."
    assert _tree(data) == [
        "INTAKE",
        ["DESIGN", "May the session be kept on the server, or must it work without?"],
        ["APPROVE_DESIGN", approval, "Correction completed", approval],
        "PLAN",
        ["REVIEW_STRATEGY", data["decisions"][2]["question"]],
        [
            "IMPLEMENT_LOOP",
            *("Coder T-002", "Reviewer T-002", "Security T-001"),
            data["decisions"][3]["question"],
            *("Sessions and attempts", "The form", "The handbook"),
        ],
        *("INTEGRATE", "RELEASE", "DONE"),
    ]
    mermaid = run("graph", ".agents-work").out
    for words in (
        "answered: changes-requested: limit how often",
        "answered: approved",
        "OK: The form shows, posts and tells what",
        "T-001 completed<br/>repaired: FIX_REVIEW 1 time",
        "T-002 completed<br/>after T-001",
    ):
        assert words in mermaid
    assert data["tasks"] == {"T-001": "completed", "T-002": "completed", "T-003": "completed"}
    assert (data["mode"], data["status"], data["kind"]) == ("full", "DONE", "team")
    assert [event["state"] for event in data["events"] if event["event"] == "enter_state"] == data["states"]


def test_what_is_still_to_come_is_drawn_as_not_reached(run: Run, write: Any) -> None:
    write(f"{SESSION}/status.json", _status("APPROVE_DESIGN", _decision("UD-APPROVE-DESIGN", "APPROVE_DESIGN")))
    data = _drawing(run, SESSION)
    assert data["states"] == ["INTAKE", "DESIGN", "APPROVE_DESIGN"]
    assert _tree(data)[2:4] == [["APPROVE_DESIGN", "UD-APPROVE-DESIGN?"], "PLAN"]
    picture = run("graph", SESSION, "--format", "svg").out
    assert picture.count("not reached") == 6
    assert "the session is here" in picture
    assert ">pending</text>" in picture
    assert "not answered yet" in run("graph", SESSION).out


@pytest.mark.parametrize(
    ("status", "states"),
    [
        (
            _status("FIX_TESTS"),
            [*PATH, "FIX_TESTS"],
        ),
        (_status("ASK_USER", _decision("UD-1", "DESIGN")), ["INTAKE", "DESIGN", "ASK_USER"]),
        (
            _status("BLOCKED", _decision("UD-1", "PLAN"), blocker="mandatory_user_decision_missing"),
            ["INTAKE", "DESIGN", "APPROVE_DESIGN", "PLAN", "BLOCKED"],
        ),
        (_status("INTAKE_LEAN"), ["INTAKE_LEAN"]),
        (_status("nowhere"), []),
    ],
)
def test_states_off_the_path_come_after_the_last_one_that_was_reached(
    run: Run, write: Any, status: dict[str, Any], states: list[str]
) -> None:
    write(f"{SESSION}/status.json", status)
    data = _drawing(run, SESSION)
    assert data["states"] == states
    blockers = [each["code"] for each in data["blockers"]]
    assert blockers == (["mandatory_user_decision_missing"] if states[-1:] == ["BLOCKED"] else [])


def test_a_recorded_trace_is_taken_as_it_is(run: Run, write: Any) -> None:
    golden = json.loads((FIXTURES / "scenarios/team/__goldens__/review-notes.golden.json").read_text(encoding="utf-8"))
    write(f"{SESSION}/status.json", _status("DONE"))
    write(f"{SESSION}/runs/first.trace.json", {"mode": "full", "trace": golden["trace"]})
    data = _drawing(run, SESSION)
    assert data["states"] == golden["states"]
    assert ["FIX_REVIEW", "Coder T-001", "T-001"] in _tree(data)
    assert "T-001 in-progress → implemented" in run("graph", SESSION).out


def test_a_session_that_can_not_be_read_says_so(run: Run, write: Any) -> None:
    write(f"{SESSION}/status.json", '{"current_state": ')
    ran = run("graph", f"{SESSION}/status.json")
    assert ran.code == 1
    assert "can't be read" in ran.err
    assert ran.out == ""


# ---------------------------------------------------------------------------------------------------------- blocks


def test_a_definition_is_drawn_in_the_order_of_its_plan(run: Run, tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "scenarios/blocks/workflows/train.workflow.json", tmp_path)
    data = _drawing(run, "train.workflow.json")
    assert _tree(data) == [
        ["Each module", "Make", {"Make succeeded": ["Check"]}],
        "Allowed?",
        {"approved && !frozen": ["Ship"], "not (approved && !frozen)": ["Hold"]},
        "Tell",
        {"told == false": ["Party"]},
    ]
    assert [stage["node"] for stage in data["plan"]] == ["each", "allowed", "ship", "hold", "tell", "party"]
    assert {"from": "tell", "to": "party", "when": "told == false"} in data["transitions"]
    assert {"node": "ship", "status": None, "prompt": "Ship the release."} in data["nodes"]
    assert data["labels"]["make"] == "Make"


def test_lanes_are_side_by_side_and_name_their_merge(run: Run, tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "scenarios/blocks/workflows/halves.workflow.json", tmp_path)
    data = _drawing(run, "halves.workflow.json")
    assert _tree(data) == ["Plan", ["Both halves", "Form", "Endpoint"], "Review"]
    boxes = {node["id"]: node for node in data["layout"]["nodes"]}
    assert boxes["form"]["y"] == boxes["api"]["y"]
    assert boxes["form"]["x"] != boxes["api"]["x"]
    assert "merged by workspace" in run("graph", "halves.workflow.json", "--format", "svg").out


def test_gates_retries_and_ways_after_a_failure_are_in_words(run: Run, write: Any) -> None:
    gate = {"id": "g", "nodeId": "ship", "gateType": "approval", "prompt": "Ship now?", "options": [], "required": True}
    gate["options"] = [{"label": "Ship", "value": "ship", "isDefault": True}, {"label": "Wait", "value": "wait"}]
    nodes = [
        _node("build", config={"maxRetries": 2, "gateMode": "gate"}),
        _node("repair"),
        _node("ship", "deployment"),
    ]
    edges = [_edge("build", "repair", "on_failure"), _edge("build", "ship", "on_success"), _edge("repair", "ship")]
    write("a.workflow.json", _definition(nodes, edges, gates=[gate]))
    assert _tree(_drawing(run, "a.workflow.json")) == ["Build", {"Build failed": ["Repair"]}, "Ship"]
    mermaid = run("graph", "a.workflow.json").out
    assert "a person looks at the result<br/>tries again 2 times" in mermaid
    assert "approval before it: Ship now?" in mermaid


def test_a_definition_without_an_order_is_reported(run: Run, tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "scenarios/blocks/workflows/circle.workflow.json", tmp_path)
    ran = run("graph", "circle.workflow.json")
    assert ran.code == 1
    assert "the transitions form a cycle: egg -> hen -> egg" in ran.err


# ------------------------------------------------------------------------------------------------------------ both


def _hostile(write: Any) -> list[str]:
    decision = _answered("UD-1", "DESIGN", HOSTILE) | {"question": HOSTILE}
    write(f"{SESSION}/status.json", _status("PLAN", decision))
    task = "{id: T-001, status: completed, goal: '<b> \"q\"', acceptance_checks: []}"
    write(f"{SESSION}/tasks.yaml", f"tasks:\n  - {task}")
    reply = {"status": "OK", "summary": HOSTILE, "artifacts": {}, "gates": {}, "next": {}}
    write(f"{SESSION}/exchanges/0001-Architect-meta.output.json", reply)
    nodes = [_node("a", label=HOSTILE), _node("b", label=HOSTILE)]
    write("a.workflow.json", _definition(nodes, [_edge("a", "b", "on_success")]))
    return [SESSION, "a.workflow.json"]


@pytest.mark.parametrize("form", FORMS)
def test_texts_are_harmless_and_the_bytes_are_the_same(run: Run, write: Any, form: str) -> None:
    for path in _hostile(write):
        ran = run("graph", path, "--format", form)
        assert ran.code == 0, ran.err
        assert ran.out == run("graph", path, "--format", form).out
        assert "\x1b" not in ran.out
        assert "\u202e" not in ran.out
        if form in ("mermaid", "svg", "html"):
            assert "<b>" not in ran.out
        if form == "mermaid":
            labels = [line for line in ran.out.splitlines() if "quoted" in line]
            assert labels
            assert all(line.count('"') == 2 for line in labels)
        if form == "svg":
            ElementTree.fromstring(ran.out)


def test_a_secret_in_a_session_does_not_get_into_a_page(run: Run, write: Any) -> None:
    token = "ghp_" + "a1B2" * 9
    write(f"{SESSION}/status.json", _status("DESIGN", _answered("UD-1", "DESIGN", f"use {token}")))
    for form in ("html", "json"):
        assert token not in run("graph", SESSION, "--format", form).out


def test_one_document_of_several_has_to_be_named(run: Run, write: Any) -> None:
    _hostile(write)
    ran = run("graph", ".")
    assert ran.code == 3
    assert "contains 2 documents that can be drawn; name one file" in ran.err
    write("one.json", workflow(step("first", title="Only me")))
    assert "Only me" in run("graph", ".").out  # a workflow is what is meant


def test_the_page_opens_at_the_document(run: Run, write: Any) -> None:
    write(f"{SESSION}/status.json", _status("INTAKE"))
    assert '"start":"~run/2026-05-01_fix-it"' in run("graph", SESSION, "--format", "html").out


def test_studio_shows_sessions_and_definitions(run: Run, write: Any, tmp_path: Path) -> None:
    _hostile(write)
    shutil.copy(FIXTURES / "scenarios/blocks/workflows/circle.workflow.json", tmp_path)
    ran = run("studio", ".", "--format", "json", "--output", "page.json")
    assert ran.code == 0
    assert "left out: circle.workflow.json: the transitions form a cycle" in ran.err
    assert "wrote 2 other documents to page.json" in ran.err
    data = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))
    assert data["workflows"] == []
    team, blocks = data["runs"]
    assert (team["kind"], team["document"], team["path"]) == ("team", "a team session", f"{SESSION}/status.json")
    assert (blocks["kind"], blocks["document"], blocks["status"]) == ("blocks", "a definition of blocks", None)
    assert team["titles"] == {"T-001": '<b> "q"'}


def test_a_golden_and_a_document_have_the_same_members(run: Run, write: Any, tmp_path: Path) -> None:
    _hostile(write)
    for kind in ("team", "blocks"):
        shutil.copytree(FIXTURES / f"scenarios/{kind}/__goldens__", tmp_path / "goldens" / kind)
    run("studio", ".", "--goldens", "goldens", "--format", "json", "--output", "page.json")
    data = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))
    for kind, own in (("team", {"titles"}), ("blocks", {"labels", "transitions"})):
        goldens = {frozenset(each) for each in data["runs"] if each["kind"] == kind and "document" not in each}
        (document,) = [frozenset(each) for each in data["runs"] if each["kind"] == kind and "document" in each]
        assert goldens == {document - own - {"document"}}
