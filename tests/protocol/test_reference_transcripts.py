"""Whole conversations under profile reference, answer by answer and event by event."""

from __future__ import annotations

import json
from typing import Any

import pytest
from protocol_bench import GUIDED, NEVER_STOP, STARTED, Bench, next_call, quiet, step, workflow

from pytest_workrail.events.kinds import AssessmentRecorded, ContextSet, DecisionTraceAppended, NodeOutputAppended
from pytest_workrail.events.payloads import NotesPayload

NOTES_FULL, NOTES_BRIEF = "⟪NOTES_FULL⟫", "⟪NOTES_BRIEF⟫"
PERFORM = "perform_pending_then_continue"


def ordered(value: Any) -> str:
    """Members count in the order in which they stand."""
    return json.dumps(value, ensure_ascii=False)


def going_on(number: int, checkpoint: int, pending: dict[str, str], intent: str = PERFORM, **rest: Any) -> Any:
    """A response of kind ok with a pending step."""
    return {
        "kind": "ok",
        "continueToken": f"«CT{number}»",
        "checkpointToken": f"«CK{checkpoint}»",
        "isComplete": False,
        "pending": pending,
        "preferences": rest.pop("preferences", GUIDED),
        "nextIntent": intent,
        "nextCall": next_call(f"«CT{number}»"),
        **rest,
    }


def done(preferences: dict[str, str] = GUIDED) -> Any:
    """The response to the last advance."""
    return {
        "kind": "ok",
        "isComplete": True,
        "pending": None,
        "preferences": preferences,
        "nextIntent": "complete",
        "nextCall": None,
    }


def pending(step_id: str, title: str, prompt: str) -> dict[str, str]:
    return {"stepId": step_id, "title": title, "prompt": prompt}


def traces(bench: Bench) -> list[list[str]]:
    return [
        [f"{entry.kind}  {entry.summary}" for entry in event.data.entries]
        for event in bench.events
        if isinstance(event, DecisionTraceAppended)
    ]


LINEAR = workflow(
    "t1-linear", step("gather", "Gather", "Collect facts."), step("report", "Report", "Report on {{topic}}.")
)
THREE = workflow(
    "t5-fork", step("first", "First", "One."), step("second", "Second", "Two."), step("third", "Third", "Three.")
)


def test_linear() -> None:
    bench = Bench(LINEAR)
    assert ordered(bench.start()) == ordered(
        {
            "continueToken": "«CT1»",
            "checkpointToken": "«CK1»",
            "isComplete": False,
            "pending": pending("gather", "Gather", f"Collect facts.{NOTES_FULL}"),
            "preferences": GUIDED,
            "nextIntent": PERFORM,
            "nextCall": next_call("«CT1»"),
        }
    )
    assert bench.log() == STARTED
    second = bench.go("CT1", context={"topic": "caching"}, output={"notesMarkdown": "Found 3 facts."})
    assert ordered(second) == ordered(going_on(2, 2, pending("report", "Report", f"Report on caching.{NOTES_BRIEF}")))
    assert ordered(bench.go("CT2", output={"notesMarkdown": "Wrote it."})) == ordered(done())
    assert bench.log(5) == (
        "5:advance_recorded 6:context_set 7:decision_trace_appended 8:node_created(step) "
        "9:edge_created(intentional_fork) 10:node_output_appended 11:advance_recorded 12:run_completed "
        "13:node_created(step) 14:edge_created(intentional_fork) 15:node_output_appended"
    )
    contexts = [event.data.context for event in bench.events if isinstance(event, ContextSet)]
    assert contexts == [{"goal": "demo"}, {"goal": "demo", "topic": "caching"}]
    assert bench.status() == "complete"


VERDICT = workflow(
    "t2-blocked",
    step("verdict", "Verdict", "Judge it.", outputContract={"contractRef": "wr.contracts.gate_verdict"}),
    step("close-out", "Close", "Close."),
)
GATE_REF = "wr.contracts.gate_verdict"


def refused(tokens: tuple[int, int, int], code: str, message: str, **rest: Any) -> Any:
    """A retryable block of the verdict step."""
    plain, checkpoint, retry = tokens
    return {
        "kind": "blocked",
        "continueToken": f"«CT{plain}»",
        "checkpointToken": f"«CK{checkpoint}»",
        "isComplete": False,
        "pending": pending("verdict", "Verdict", "Judge it.⟪CONTRACT⟫"),
        "preferences": GUIDED,
        "nextIntent": PERFORM,
        "nextCall": next_call(f"«CT{retry}»"),
        "blockers": {
            "blockers": [
                {
                    "code": code,
                    "pointer": {"kind": "output_contract", "contractRef": GATE_REF},
                    "message": message,
                    "suggestedFix": "⟪FIX⟫",
                }
            ]
        },
        "retryable": True,
        "retryContinueToken": f"«CT{retry}»",
        **rest,
    }


def test_blocked_twice_then_accepted() -> None:
    bench = Bench(VERDICT)
    bench.start()
    missing = f"Missing required output (contractRef={GATE_REF})."
    assert ordered(bench.advance("CT1")) == ordered(refused((2, 2, 3), "MISSING_REQUIRED_OUTPUT", missing))
    verdict = {"kind": "wr.gate_verdict", "version": 1, "confidence": "high"}
    odd = verdict | {"verdict": "maybe", "rationale": "too short"}
    validation = {
        "issues": [
            "rationale: String must contain at least 20 character(s)",
            "verdict: Invalid enum value. Expected 'approved' | 'rejected' | 'uncertain', received 'maybe'",
        ],
        "suggestions": ["Provide a valid artifact matching the contract schema"],
    }
    invalid = f"Invalid output for contractRef={GATE_REF}."
    assert ordered(bench.go("CT3", artifacts=[odd])) == ordered(
        refused((4, 3, 5), "INVALID_REQUIRED_OUTPUT", invalid, validation=validation)
    )
    good = verdict | {"verdict": "approved", "rationale": "All criteria are met here."}
    assert ordered(bench.go("CT5", artifacts=[good])) == ordered(
        going_on(6, 4, pending("close-out", "Close", f"Close.{NOTES_FULL}"))
    )
    assert bench.log(5) == (
        "5:advance_recorded 6:node_created(blocked_attempt) 7:edge_created(intentional_fork) "
        "8:advance_recorded 9:validation_performed 10:node_created(blocked_attempt) 11:edge_created(intentional_fork) "
        "12:node_output_appended 13:advance_recorded 14:validation_performed 15:decision_trace_appended "
        "16:node_created(step) 17:edge_created(intentional_fork) 18:node_output_appended"
    )


REFINE = workflow(
    "t3-loop",
    step("setup", "Setup", "Set up.", notesOptional=True),
    {
        "id": "refine",
        "type": "loop",
        "title": "Refine",
        "loop": {
            "type": "while",
            "maxIterations": 3,
            "conditionSource": {
                "kind": "artifact_contract",
                "contractRef": "wr.contracts.loop_control",
                "loopId": "refine",
            },
        },
        "body": [
            step("draft", "Draft {{currentIteration}}", "Draft pass {{currentIteration}}.", notesOptional=True),
            step("decide", "Decide", "Again?", outputContract={"contractRef": "wr.contracts.loop_control"}),
        ],
    },
    step("ship-it", "Ship", "Ship.", notesOptional=True),
)


def test_loop_driven_by_an_artifact() -> None:
    bench = Bench(REFINE)

    def decision(said: str, **rest: str) -> dict[str, Any]:
        return {"artifacts": [{"kind": "wr.loop_control", "decision": said, **rest}]}

    calls: list[dict[str, Any]] = [
        {"intent": "advance"},
        {"intent": "advance"},
        decision("continue"),
        {"intent": "advance"},
        decision("stop", loopId="some-other-loop"),
    ]
    shown = [bench.start()["pending"]]
    shown += [bench.go(f"CT{number}", **call)["pending"] for number, call in enumerate(calls, 1)]
    assert shown == [
        pending("setup", "Setup", "Set up."),
        pending("draft", "Draft 1", "⟪LOOP_FIRST⟫Draft pass 1."),
        pending("decide", "Decide", "Again?⟪CONTRACT⟫"),
        pending("draft", "Draft 2", "⟪LOOP_NEXT⟫Draft pass 2."),
        pending("decide", "Decide", "Again?⟪CONTRACT⟫"),
        pending("ship-it", "Ship", "Ship."),
    ]
    assert bench.advance("CT6") == done()
    assert [_state(snapshot.state.to_wire()) for snapshot in bench.snapshots()] == [
        "running completed[] stack[] pending setup",
        "running completed[setup] stack[refine,0,0] pending draft@refine,0",
        "running completed[refine@0::draft setup] stack[refine,0,1] pending decide@refine,0",
        "running completed[refine@0::decide refine@0::draft setup] stack[refine,1,0] pending draft@refine,1",
        (
            "running completed[refine@0::decide refine@0::draft refine@1::draft setup] stack[refine,1,1] "
            "pending decide@refine,1"
        ),
        (
            "running completed[refine refine@0::decide refine@0::draft refine@1::decide refine@1::draft setup] stack[] "
            "pending ship-it"
        ),
        "complete",
    ]
    first, _, third, _, fifth = traces(bench)
    here = "evaluated_condition  Loop 'refine' iteration {}: artifact match={}"
    result = "evaluated_condition  Evaluated artifact condition for loop 'refine' at iteration {}: {}."
    entered = "entered_loop  Entered loop 'refine' at iteration 0."
    selected = "selected_next_step  Next step: Draft {{currentIteration}} (draft)"
    assert first == [
        here.format(0, "not_found — No artifacts provided for loop control evaluation"),
        result.format(0, "continue"),
        entered,
        selected,
    ]
    found = 'found — decision="continue"'
    again = [here.format(1, found), result.format(1, "continue")]
    assert third == [here.format(0, found), result.format(0, "continue"), entered, *again, *again, selected]
    assert fifth == [
        here.format(1, 'found — decision="stop"'),
        result.format(1, "exit"),
        "exited_loop  Exited loop 'refine': Condition no longer met after 1 iteration(s).",
        "selected_next_step  Next step: Selected (no condition): Ship (ship-it)",
    ]


def _state(state: Any) -> str:
    if state["kind"] == "complete":
        return "complete"
    stack = " ".join(f"{f['loopId']},{f['iteration']},{f['bodyIndex']}" for f in state["loopStack"])
    at = state["pending"]["step"]
    place = "".join(f"@{p['loopId']},{p['iteration']}" for p in at["loopPath"])
    completed = " ".join(state["completed"]["values"])
    return f"{state['kind']} completed[{completed}] stack[{stack}] pending {at['stepId']}{place}"


SLICES = workflow(
    "t4-each",
    step("plan", "Plan", "Plan.", notesOptional=True),
    {
        "id": "per-slice",
        "type": "loop",
        "title": "Per slice",
        "loop": {"type": "forEach", "items": "slices", "itemVar": "slice", "indexVar": "idx", "maxIterations": 10},
        "body": [step("build", "Build {{slice.name}}", "#{{idx}} build {{slice.name}}.", notesOptional=True)],
    },
    step("wrap-up", "Wrap", "Wrap.", notesOptional=True),
)


def test_loop_over_a_list() -> None:
    """@enforces context-not-durable"""
    bench = Bench(SLICES)
    bench.start()
    before = bench.log()
    assert ordered(bench.advance("CT1")) == ordered(
        {
            "code": "PRECONDITION_FAILED",
            "message": "forEach loop 'per-slice' requires array context['slices']",
            "retry": {"kind": "not_retryable"},
            "details": {"suggestion": "⟪SUGGESTION⟫"},
        }
    )
    assert bench.log() == before
    slices = [{"name": "api"}, {"name": "ui"}]
    shown = [
        bench.advance("CT1", context={"slices": slices})["pending"],
        bench.advance("CT2")["pending"],
        bench.advance("CT3")["pending"],
    ]
    assert shown == [
        pending("build", "Build api", "⟪LOOP_FIRST⟫#0 build api."),
        pending("build", "Build ui", "⟪LOOP_NEXT⟫#1 build ui."),
        pending("wrap-up", "Wrap", "Wrap."),
    ]
    advance = "{}:advance_recorded {}:decision_trace_appended {}:node_created(step) {}:edge_created(intentional_fork)"
    assert bench.log(5) == (
        "5:advance_recorded 6:context_set 7:decision_trace_appended 8:node_created(step) "
        f"9:edge_created(intentional_fork) {advance.format(10, 11, 12, 13)} {advance.format(14, 15, 16, 17)}"
    )


def test_rewind_and_fork() -> None:
    """@enforces non-tip-advance-creates-fork"""
    bench = Bench(THREE)
    bench.start()
    bench.go("CT1", output={"notesMarkdown": "n-first"})
    bench.go("CT2", output={"notesMarkdown": "n-second"})
    tip = bench.engine.session(bench.session_id).value.runs[bench.run_id].preferred_tip
    rehydrated = bench.look("CT2")
    prompt = (
        f"Two.{NOTES_FULL}\n\n## Recovery Context\n\n### Branch Summary\n"
        "This node has 1 child. Preferred branch tip: «NODE1»\n\n### Ancestry Recap\nn-first"
    )
    assert ordered(rehydrated) == ordered(going_on(4, 4, pending("second", "Second", prompt), "rehydrate_only"))
    assert bench.actual("NODE1") == tip
    forked = bench.go("CT4", output={"notesMarkdown": "n-second-alt"})
    assert ordered(forked) == ordered(going_on(5, 5, pending("third", "Third", f"Three.{NOTES_BRIEF}")))
    assert bench.log(15) == (
        "15:advance_recorded 16:decision_trace_appended 17:node_created(step) 18:edge_created(non_tip_advance) "
        "19:node_output_appended"
    )
    run = bench.engine.session(bench.session_id).value.runs[bench.run_id]
    assert len(run.tips) == 2
    assert run.preferred_tip == bench.engine.place_of(bench.actual("CT5")).value.node_id
    recovery = "\n\n## Recovery Context\n\n### Ancestry Recap\nn-first\n\n{}"
    assert bench.look("CT5")["pending"]["prompt"] == f"Three.{NOTES_FULL}" + recovery.format("n-second-alt")
    assert bench.look("CT3")["pending"]["prompt"] == f"Three.{NOTES_FULL}" + recovery.format("n-second")


def test_replay() -> None:
    """@enforces ack-replay-idempotent
    @enforces replay-fact-returning
    """
    bench = Bench(THREE)
    bench.start()
    token = bench.actual("CT1")
    first = bench.engine.continue_workflow({"continueToken": token, "output": {"notesMarkdown": "n1"}}).value
    before = bench.log()
    again = bench.engine.continue_workflow({"continueToken": token, "output": {"notesMarkdown": "something else"}})
    assert ordered(again.value.to_json()) == ordered(first.to_json())
    assert again.value.text == first.text
    assert bench.log() == before
    notes = [
        event.data.payload.notes_markdown
        for event in bench.events
        if isinstance(event, NodeOutputAppended) and isinstance(event.data.payload, NotesPayload)
    ]
    assert notes == ["n1"]


def test_never_stop() -> None:
    """@enforces run-status-closed-set"""
    bench = Bench(
        workflow(
            "t7-never-stop",
            step("probe", "Probe", "Probe.", outputContract={"contractRef": "wr.contracts.coordinator_signal"}),
            step("write-up", "Write", "Write."),
            recommendedPreferences={"recommendedAutonomy": "guided"},
        )
    )
    bench.start()
    bench.prefer("CT1", "full_auto_never_stop")
    shown = bench.advance("CT1")
    expected = going_on(2, 2, pending("write-up", "Write", f"Write.{NOTES_FULL}"), preferences=NEVER_STOP)
    assert ordered(shown) == ordered(expected)
    assert ordered(bench.advance("CT2")) == ordered(done(NEVER_STOP))
    assert bench.log(5) == (
        "5:preferences_changed 6:advance_recorded 7:gap_recorded 8:gap_recorded 9:decision_trace_appended "
        "10:node_created(step) 11:edge_created(intentional_fork) 12:advance_recorded 13:gap_recorded 14:gap_recorded "
        "15:run_completed 16:node_created(step) 17:edge_created(intentional_fork)"
    )
    first, second = (event.data.to_wire()["attemptId"] for event in bench.events if event.kind == "advance_recorded")

    def gap(name: str, severity: str, category: str, detail: str, summary: str) -> Any:
        return {
            "gapId": name,
            "severity": severity,
            "reason": {"category": category, "detail": detail},
            "summary": summary,
            "resolution": {"kind": "unresolved"},
        }

    def warning(attempt: Any) -> Any:
        text = "Effective autonomy 'full_auto_never_stop' exceeds workflow recommendation 'guided'."
        return gap(f"rec_warn_{attempt}_0", "warning", "unexpected", "evaluation_error", text)

    missing = "Missing required output for contractRef=wr.contracts.coordinator_signal"
    notes = "Missing required notes for stepId=write-up"
    assert bench.gaps() == [
        gap(f"gap_{first}_0", "critical", "contract_violation", "missing_required_output", missing),
        warning(first),
        gap(f"gap_{second}_0", "critical", "contract_violation", "missing_required_notes", notes),
        warning(second),
    ]
    assert bench.status() == "complete_with_gaps"


def test_rehydrate_is_pure() -> None:
    """@enforces rehydrate-pure-no-writes"""
    bench = Bench(THREE)
    bench.start()
    before = bench.home.stores.sessions.load(bench.session_id).value
    expected = pending("first", "First", f"One.{NOTES_FULL}")
    assert ordered(bench.look("CT1")) == ordered(going_on(2, 2, expected, "rehydrate_only"))
    assert ordered(bench.look("CT1")) == ordered(going_on(3, 3, expected, "rehydrate_only"))
    assert bench.home.stores.sessions.load(bench.session_id).value == before


ASSESS = workflow(
    "t9-assess",
    step(
        "assess",
        "Assess",
        "Rate it.",
        assessmentRefs=["readiness"],
        assessmentConsequences=[
            {
                "when": {"anyEqualsLevel": "low"},
                "effect": {"kind": "require_followup", "guidance": "Gather more evidence."},
            }
        ],
    ),
    step("go-live", "Go", "Go."),
    assessments=[
        {
            "id": "readiness",
            "purpose": "Ready?",
            "dimensions": [{"id": "confidence", "purpose": "How sure", "levels": ["low", "high"]}],
        }
    ],
)


def test_assessment_followup() -> None:
    bench = Bench(ASSESS)
    bench.start()
    low = {"kind": "wr.assessment", "dimensions": {"confidence": {"level": "LOW", "rationale": "thin"}}}
    assert ordered(bench.go("CT1", output={"notesMarkdown": "n", "artifacts": [low]})) == ordered(
        {
            "kind": "blocked",
            "continueToken": "«CT2»",
            "checkpointToken": "«CK2»",
            "isComplete": False,
            "pending": pending("assess", "Assess", f"Rate it.⟪ASSESSMENT⟫{NOTES_FULL}"),
            "preferences": GUIDED,
            "nextIntent": PERFORM,
            "nextCall": next_call("«CT3»"),
            "blockers": {
                "blockers": [
                    {
                        "code": "ASSESSMENT_FOLLOWUP_REQUIRED",
                        "pointer": {
                            "kind": "assessment_dimension",
                            "assessmentId": "readiness",
                            "dimensionId": "confidence",
                        },
                        "message": (
                            'Follow-up required before this step can proceed: readiness.confidence matched "low".'
                        ),
                        "suggestedFix": "⟪FIX⟫",
                    }
                ]
            },
            "retryable": True,
            "retryContinueToken": "«CT3»",
            "assessmentFollowup": {
                "title": "Assessment follow-up matched readiness.confidence == low",
                "guidance": "Gather more evidence.",
            },
        }
    )
    high = {"kind": "wr.assessment", "dimensions": {"confidence": "high"}}
    step_context = {
        "assessments": [
            {
                "assessmentId": "readiness",
                "dimensions": [{"dimensionId": "confidence", "level": "high"}],
                "normalizationNotes": [],
            }
        ]
    }
    assert ordered(bench.go("CT3", output={"notesMarkdown": "n2", "artifacts": [high]})) == ordered(
        going_on(4, 3, pending("go-live", "Go", f"Go.{NOTES_BRIEF}"), stepContext=step_context)
    )
    assert bench.log(5) == (
        "5:advance_recorded 6:assessment_recorded 7:assessment_consequence_applied 8:node_created(blocked_attempt) "
        "9:edge_created(intentional_fork) 10:node_output_appended 11:advance_recorded 12:validation_performed "
        "13:decision_trace_appended 14:assessment_recorded 15:node_created(step) 16:edge_created(intentional_fork) "
        "17:node_output_appended 18:node_output_appended"
    )
    recorded = bench.events[6]
    assert isinstance(recorded, AssessmentRecorded)
    assert [dimension.to_wire() for dimension in recorded.data.dimensions] == [
        {"dimensionId": "confidence", "level": "low", "rationale": "thin", "normalization": "normalized"}
    ]
    assert recorded.data.normalization_notes == ('Normalized level "LOW" to canonical value "low".',)


def test_checkpoint_and_confirmation() -> None:
    """@enforces edge-cause-closed-set
    @enforces edge-kind-closed-set
    """
    bench = Bench(
        workflow(
            "t10-checkpoint",
            step("alpha", "Alpha", "A.", notesOptional=True),
            step("beta", "Beta", "B.", notesOptional=True, requireConfirmation=True),
        )
    )
    bench.start()
    marked = {"checkpointNodeId": "«NODE1»", "resumeToken": "«ST1»", "nextCall": next_call("«CT1»")}
    assert ordered(bench.checkpoint("CK1")) == ordered(marked)
    assert ordered(bench.checkpoint("CK1")) == ordered(marked)
    waiting = going_on(2, 2, pending("beta", "Beta", "B."), "await_user_confirmation")
    assert ordered(bench.advance("CT1")) == ordered(waiting)
    assert bench.log(5) == (
        "5:node_created(checkpoint) 6:edge_created(checkpoint_created) 7:advance_recorded 8:decision_trace_appended "
        "9:node_created(step) 10:edge_created(non_tip_advance)"
    )


RULES = [
    {"type": "contains", "value": "## Risks", "message": "Needs a Risks section"},
    {"type": "length", "min": 20, "message": "Too short"},
]


def summarize(criteria: Any) -> dict[str, Any]:
    return workflow(
        "t11-criteria", step("summarize", "Summarize", "Sum up.", validationCriteria=criteria), quiet("rest")
    )


def test_prose_criteria_as_a_composition() -> None:
    bench = Bench(summarize({"and": RULES}))
    prompt = '**OUTPUT REQUIREMENTS:**\n- Must contain: "## Risks"\n- Length: ≥20 chars'
    assert bench.start()["pending"]["prompt"] == f"Sum up.\n\n{prompt}{NOTES_FULL}"
    blocked = bench.go("CT1", notes="short")
    (blocker,) = blocked["blockers"]["blockers"]
    assert blocker["code"] == "INVALID_REQUIRED_OUTPUT"
    assert blocker["pointer"] == {"kind": "output_contract", "contractRef": "wr.validationCriteria"}
    assert blocked["validation"] == {
        "issues": ["Validation composition failed"],
        "suggestions": ["Review validation criteria and adjust output accordingly."],
    }
    assert bench.log(5) == (
        "5:advance_recorded 6:validation_performed 7:node_created(blocked_attempt) 8:edge_created(intentional_fork)"
    )
    assert bench.go("CT3", notes="## Risks\nNone that matter.")["kind"] == "ok"
    assert bench.log(9) == (
        "9:advance_recorded 10:validation_performed 11:decision_trace_appended 12:node_created(step) "
        "13:edge_created(intentional_fork) 14:node_output_appended"
    )


def test_prose_criteria_as_a_list() -> None:
    bench = Bench(summarize(RULES))
    assert bench.start()["pending"]["prompt"] == f"Sum up.{NOTES_FULL}"
    assert bench.go("CT1", notes="short")["validation"]["issues"] == ["Needs a Risks section", "Too short"]
    before = len(bench.events)
    blocked = bench.advance("CT3")
    assert [(blocker["code"], blocker["message"]) for blocker in blocked["blockers"]["blockers"]] == [
        ("MISSING_REQUIRED_NOTES", 'Step "summarize" requires notes documenting your work (output.notesMarkdown).'),
        ("MISSING_REQUIRED_OUTPUT", "Missing required output (contractRef=wr.validationCriteria)."),
    ]
    assert "validation" not in blocked
    assert "validation_performed" not in bench.log(before)


def test_gate_in_an_autonomous_run() -> None:
    bench = Bench(
        workflow(
            "t12-gate", step("risky", "Risky", "Do it.", requireConfirmation={"kind": "human_approval"}), quiet("rest")
        )
    )
    started = bench.start(initialContext={"is_autonomous": "true"})
    assert started["nextIntent"] == "await_user_confirmation"
    gated = bench.advance("CT1", notes="Did it.", context={"kept": True})
    assert ordered(gated) == ordered(
        {"kind": "gate_checkpoint", "gateToken": "«CT2»", "stepId": "risky", "gateKind": "human_approval"}
    )
    assert bench.log(5) == "5:advance_recorded 6:node_created(gate_checkpoint) 7:edge_created(intentional_fork)"
    assert bench.advance("CT2")["code"] == "INTERNAL_ERROR"
    assert bench.look("CT2")["pending"]["stepId"] == "risky"


def test_conditions_and_late_selection() -> None:
    bench = Bench(
        workflow(
            "t13-late",
            quiet("triage"),
            step("deep-dive", "Deep", "Dive.", notesOptional=True, runCondition={"var": "severity", "gte": 3}),
            step(
                "fast-path",
                "Fast",
                "Be fast.",
                notesOptional=True,
                runCondition={"or": [{"var": "severity", "lt": 3}, {"var": "mode", "equals": "fast"}]},
            ),
            step("close-it", "Close", "Close.", notesOptional=True),
        )
    )
    bench.start()
    assert bench.advance("CT1", context={"severity": 1})["pending"]["stepId"] == "fast-path"
    assert bench.advance("CT2", context={"severity": 5})["pending"]["stepId"] == "deep-dive"
    assert bench.advance("CT3")["pending"]["stepId"] == "close-it"
    assert bench.advance("CT4") == done()
    assert [[line.partition("  ")[2] for line in trace] for trace in traces(bench)] == [
        ["SKIP: severity (gte)", "PASS: or-condition met", "Next step: Fast (fast-path)"],
        ["PASS: severity=5 (gte: 3)", "Next step: Deep (deep-dive)"],
        ["Next step: Selected (no condition): Close (close-it)"],
    ]


@pytest.mark.parametrize(
    ("token", "code", "message"),
    [
        ("hello", "TOKEN_INVALID_FORMAT", "Expected a continue token (ct_...)."),
        ("CK1", "TOKEN_INVALID_FORMAT", "Expected a continue token (ct_...)."),
        ("forged", "TOKEN_BAD_SIGNATURE", "Continue token HMAC verification failed."),
    ],
)
def test_tokens_that_do_not_work(token: str, code: str, message: str) -> None:
    """@enforces token-validation-errors-closed-set"""
    bench = Bench(LINEAR)
    bench.start()
    if token == "forged":
        real = bench.actual("CT1")
        token = real[:-1] + ("A" if real[-1] != "A" else "B")
    shown = bench.go(token)
    assert (shown["code"], shown["message"]) == (code, message)


def test_a_wrong_metrics_outcome() -> None:
    bench = Bench(LINEAR)
    bench.start()
    shown = bench.go("CT1", context={"metrics_outcome": "great"})
    assert shown["code"] == "VALIDATION_ERROR"
    assert shown["details"]["details"] == {
        "kind": "context_invalid_metrics_outcome",
        "tool": "continue_workflow",
        "invalidValue": "great",
        "validValues": ["success", "partial", "abandoned", "error"],
    }


def test_a_rehydrate_with_output() -> None:
    bench = Bench(LINEAR)
    bench.start()
    shown = bench.go("CT1", intent="rehydrate", workspacePath="/w", output={"notesMarkdown": "n"})
    assert shown["code"] == "VALIDATION_ERROR"
    assert [issue["path"] for issue in shown["details"]["validationErrors"]] == ["output"]
