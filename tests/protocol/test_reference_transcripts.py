"""Whole conversations under profile reference, answer by answer and event by event: runs, loops, forks, replays."""

from __future__ import annotations

from typing import Any

from protocol_bench import GUIDED, NEVER_STOP, STARTED, Bench, next_call, step, workflow
from transcript_shapes import NOTES_BRIEF, NOTES_FULL, PERFORM, done, going_on, ordered, pending, traces

from pytest_workrail.engine.model.events import ContextSet, NodeOutputAppended, NotesPayload

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
