"""Any sequence of agents, answers and failures: whatever happens, the promises of the contract hold.

A run is played from its start each time, with everything that was said so far. So a run that waits is resumed by
playing it again with one more answer, and what was told before has to be told again, word for word.
"""

from __future__ import annotations

from typing import Any

from block_runs import edge, group, node, run, workflow
from effort import times
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from pytest_workrail.systems.blocks.block_run import BlockRun

LANES = ("a", "b", "c")
ASKING = ("s", "z")
NODES = ("s", *LANES, "z")
PATHS = ("src/p.py", "src/q.py", "src/new.py")
BASE = {"src/p.py": "p\n", "src/q.py": "q\n"}
STRATEGIES = ("concatenate", "workspace", "fail-on-conflict")
OPEN = ("waiting_gate", "paused")
RETRIES = 1

FAILURES: dict[str, dict[str, Any]] = {
    "nothing": {"output": "none"},
    "nonsense": {"raw": "{"},
    "another": {"output": {"blockId": "somebody"}},
    "exit": {"exit": 3},
    "silent exit": {"exit": 3, "output": "none"},
    "again": {"exit": 75, "output": "none"},
    "slow": {"timeout": True, "output": "none"},
    "own": {"output": {"status": "failed"}},
    "escape": {"output": {"filesModified": ["../x"]}},
    "half": {"output": {"status": "partial"}},
}


# Deleting counts as modifying, and path_conflicts like any other edit.
WORK = st.fixed_dictionaries(
    {"ticks": st.integers(1, 4), "paths": st.sets(st.sampled_from(PATHS), min_size=1), "deletes": st.booleans()}
)


def written_by(name: str, work: dict[str, Any]) -> dict[str, Any]:
    """A reply whose texts tell who wrote them."""
    gone = work["deletes"]
    write = {path: None if gone and path in BASE else f"{name} {path}\n" for path in sorted(work["paths"])}
    return {"ticks": work["ticks"], "write": write}


def definition(strategy: str) -> dict[str, Any]:
    config = {"maxRetries": RETRIES, "retryableExitCodes": [75], "timeoutSeconds": 50}
    nodes = [node(name, "planner", config={**config, "gateMode": "gate"}) for name in ASKING]
    lanes = [node(name, "coding", config=config) for name in LANES]
    edges = [edge("s", name) for name in LANES] + [edge(name, "z") for name in LANES]
    parallel = [group(*LANES, mergeStrategy=strategy)]
    return workflow(nodes[0], *lanes, nodes[1], edges=edges, parallelGroups=parallel)


class Runs(RuleBasedStateMachine):
    """What was said so far, and the last run."""

    @initialize(
        strategy=st.sampled_from(STRATEGIES),
        mode=st.sampled_from(("lenient", "lenient", "strict")),
        works=st.fixed_dictionaries(dict.fromkeys(LANES, WORK)),
        failures=st.dictionaries(st.sampled_from(NODES), st.sampled_from(sorted(FAILURES)), max_size=2),
        revisions=st.sampled_from((0, 0, 0, 1, 11)),
    )
    def start(
        self,
        strategy: str,
        mode: str,
        works: dict[str, dict[str, Any]],
        failures: dict[str, str],
        revisions: int,
    ) -> None:
        self.strategy, self.mode = strategy, mode
        self.replies: dict[str, dict[str, Any]] = {}
        self.gates: dict[str, list[Any]] = {"s": [*[{"revise": "More."}] * revisions, "continue"]}
        self.conflicts: dict[str, str] = {}
        self.last: BlockRun | None = None
        for name, work in works.items():
            self.replies[name] = written_by(name, work)
        for name, how in failures.items():
            self.replies[f"{name}#1"] = FAILURES[how]

    # ------------------------------------------------------------------------------------------------- what is said

    @rule(name=st.sampled_from(NODES), work=WORK)
    def agent_works(self, name: str, work: dict[str, Any]) -> None:
        self.replies[name] = written_by(name, work)
        self.last = None

    @rule(name=st.sampled_from(NODES), number=st.integers(1, 3), how=st.sampled_from(sorted(FAILURES)))
    def agent_fails(self, name: str, number: int, how: str) -> None:
        self.replies[f"{name}#{number}"] = FAILURES[how]
        self.last = None

    @rule(name=st.sampled_from(ASKING), answer=st.sampled_from(("continue", "abort", {"revise": "More."})))
    def person_answers(self, name: str, answer: Any) -> None:
        self.gates.setdefault(name, []).append(answer)
        self.resume()

    @rule(path=st.sampled_from(PATHS), choice=st.sampled_from((*LANES, "manual", "abort")))
    def person_chooses(self, path: str, choice: str) -> None:
        if path not in self.conflicts:
            self.conflicts[path] = choice
            self.resume()

    # ------------------------------------------------------------------------------------------------ what comes of it

    def resume(self) -> None:
        """Play everything said so far; a run that was waiting goes on from where it was."""
        before = self.last
        made = self.last = self.play()
        if before is not None:
            shared = len(before.events) if before.execution_status in OPEN else 0
            assert made.events[:shared] == before.events[:shared]
            if before.execution_status not in OPEN:
                assert made.events == before.events
        self.check(made)

    def play(self) -> BlockRun:
        manual = {path: "by hand\n" for path, choice in self.conflicts.items() if choice == "manual"}
        return run(
            definition(self.strategy),
            repo={"files": BASE},
            failureMode=self.mode,
            replies=self.replies,
            gates=self.gates,
            conflicts=self.conflicts,
            manual=manual,
        )

    @rule()
    def play_it_again(self) -> None:
        one, other = self.play(), self.play()
        assert one.golden_bytes == other.golden_bytes
        self.last = one
        self.check(one)

    def check(self, made: BlockRun) -> None:
        assert not [finding for finding in made.findings if finding.code.startswith("BC7")]
        self.check_outputs(made)
        self.check_limits(made)
        self.check_end(made)
        self.check_isolation(made)
        self.check_files(made)
        for merged in made.fan_ins:
            self.check_merge(made, merged)

    def check_outputs(self, made: BlockRun) -> None:
        settled = {event["nodeId"] for event in made.events if event["type"] == "lane_settled"}
        kept = {name.removeprefix("block-").removesuffix(".json") for name in made.golden["outputFolder"]}
        assert settled | {step["node"] for step in made.steps} <= kept
        for step in made.steps:
            assert step["output"] is None or step["output"]["blockId"] == step["node"]
            assert step["synthetic"] is None or step["output"]["status"] == "failed"

    def check_limits(self, made: BlockRun) -> None:
        for name in NODES:
            runs = sum(step["node"] == name for step in made.steps)
            revisions = sum(event["type"] == "block_revision" and event["nodeId"] == name for event in made.events)
            assert revisions <= 10
            assert runs <= (revisions + 1) * (RETRIES + 1)

    def check_end(self, made: BlockRun) -> None:
        last = made.events[-1]["type"]
        failed = "failed" in made.nodes.values()
        match made.execution_status:
            case "completed":
                assert (last, failed) == ("execution_completed", False)
            case "failed":
                assert (last, failed) == ("execution_failed", True)
            case "aborted":
                assert last == "execution_aborted"
                assert "BLOCK_ABORTED" in [blocker["code"] for blocker in made.blockers]
            case _:
                assert last == "block_gate_open"
                assert made.blockers

    def check_isolation(self, made: BlockRun) -> None:
        """Nothing was seen to change in a workspace but what its own agent wrote."""
        for step in made.steps:
            wrote = {
                path for key, reply in self.replies.items() if key[0] == step["node"] for path in reply.get("write", ())
            }
            assert set(step["detected"]) <= wrote

    def check_merge(self, made: BlockRun, merged: dict[str, Any]) -> None:
        outputs = {output["blockId"]: output for output in merged["result"]["blockOutputs"]}
        assert list(outputs) == list(LANES)
        giving = [lane for lane in merged["completionOrder"] if outputs[lane]["status"] != "failed"]
        edits = {path: [lane for lane in giving if path in outputs[lane]["filesModified"]] for path in PATHS}
        clashing = {path: lanes for path, lanes in edits.items() if len(lanes) > 1}
        told = [event["data"] for event in made.events if event["type"] == "lane:conflict-detected"]
        recorded = {each["conflictingFile"]: each["lanes"] for each in merged["result"]["conflicts"]}
        if self.strategy == "concatenate":
            assert (told, recorded, merged["applied"]) == ([], {}, {})
            return
        assert recorded == clashing
        assert len(merged["result"]["conflicts"]) == len(clashing)
        asked = self.strategy == "fail-on-conflict"
        assert [each["conflictingFile"] for each in told] == ([] if asked else sorted(clashing))
        for path in PATHS:
            lists = [lane for lane in giving if path in outputs[lane]["filesModified"] + outputs[lane]["filesCreated"]]
            winner = self.conflicts[path] if asked and path in clashing else next(iter(lists), None)
            assert merged["applied"].get(path) == winner

    def check_files(self, made: BlockRun) -> None:
        """The main workspace holds what blocks in a row wrote and what the winners of the merge had, and no more."""
        main = self.worked_on("s", made, BASE)
        for merged in made.fan_ins:
            lanes = {lane: self.worked_on(lane, made, main) for lane in LANES}
            lanes["manual"] = dict.fromkeys(PATHS, "by hand\n")
            for path, winner in merged["applied"].items():
                main.pop(path, None)
                if path in lanes[winner]:
                    main[path] = lanes[winner][path]
        assert made.files == self.worked_on("z", made, main)

    def worked_on(self, name: str, made: BlockRun, files: dict[str, str]) -> dict[str, str]:
        """What becomes of files under the hands of an agent, in all its runs."""
        content = dict(files)
        for number in range(1, 1 + sum(step["node"] == name for step in made.steps)):
            reply = self.replies.get(f"{name}#{number}", self.replies.get(name, {}))
            for path, text in reply.get("write", {}).items():
                content.pop(path, None)
                if text is not None:
                    content[path] = text
        return content

    def teardown(self) -> None:
        if self.last is not None:
            self.check(self.last)


def test_whatever_happens_the_promises_hold() -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Runs,
        settings=settings(
            max_examples=times(12, deep=200),
            stateful_step_count=8,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
