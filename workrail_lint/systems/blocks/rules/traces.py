"""BC701 to BC704, BC710 to BC712 and BC715: what a run recorded about blocks in a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks import comparison, traces
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, ENGINES, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.samples import TRACE_PATH, environment, output


class TraceRule(BlockRule):
    """A rule about the trace of a run; `problems` finds what is wrong."""

    severity = Severity.ERROR
    kinds = (BlockKind.TRACE,)
    problems: ClassVar[Callable[[traces.Trace], Iterator[traces.Problem]]]

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for pointer, message in type(self).problems(traces.Trace(document.value)):
            report(pointer, message)


def events(*items: Any, **members: Any) -> dict[str, Any]:
    """A trace of events: a type, a type and a node, or a type, a node and data."""
    made = []
    for n, item in enumerate(items, 1):
        kind, node, data = (*((item,) if isinstance(item, str) else item), None, None)[:3]
        event = {"n": n, "type": kind, "nodeId": node, "data": data}
        made.append({name: value for name, value in event.items() if value is not None})
    return {"events": made, **members}


def step(node: str, index: int, previous: str = "", **members: Any) -> dict[str, Any]:
    """A step with its environment."""
    return {"node": node, "stepIndex": index, "env": environment(node, str(index), previous, **members)}


class OutputFolderLate(TraceRule):
    code = "BC701"
    name = "output-folder-late"
    origin = CONTRACT
    summary = "The first block started before the output folder existed."
    why = "A block that finishes early has nowhere to write its output, and counts as failed."
    problems = traces.output_folder_late

    def examples(self) -> Iterator[Example]:
        yield Example(
            events("execution_started", ("node_started", "a"), "folder_created"),
            events("execution_started", "folder_created", ("node_started", "a")),
            path=TRACE_PATH,
        )


class StartedEarly(TraceRule):
    code = "BC702"
    name = "started-early"
    origin = CONTRACT
    summary = "A block started before the previous block was validated."
    why = "It reads an output that does not exist yet, or one that will be rejected."
    problems = traces.started_early

    def examples(self) -> Iterator[Example]:
        a, b, done = ("node_started", "a"), ("node_started", "b"), ("node_completed", "a")
        yield Example(events("folder_created", a, b), events("folder_created", a, done, b), path=TRACE_PATH)


class SyntheticMissing(TraceRule):
    code = "BC703"
    name = "synthetic-missing"
    origin = CONTRACT
    summary = "A block left no usable output, and none was written in its place."
    why = "The next block looks for the file; a missing file can't report that the block failed."
    problems = traces.synthetic_missing

    def examples(self) -> Iterator[Example]:
        failed = ("folder_created", ("node_started", "t"), ("node_failed", "t", {"reason": "missing"}))
        yield Example(events(*failed, outputFolder=[]), events(*failed, outputFolder=["block-t.json"]), path=TRACE_PATH)


class EnvStale(TraceRule):
    code = "BC704"
    name = "env-stale"
    origin = DECIDED
    summary = "A block received a variable of an earlier block."
    why = "A warm container must not show the values of an earlier block: the agent would do that block's work."
    problems = traces.env_stale

    def examples(self) -> Iterator[Example]:
        def trace(env: dict[str, Any]) -> dict[str, Any]:
            return {"plan": ["a", "b"], "steps": [step("a", 0), {**step("b", 1, "a"), "env": env}]}

        yield Example(trace(environment("a", "1", "a")), trace(environment("b", "1", "a")), path=TRACE_PATH)


class MemoryDependence(TraceRule):
    code = "BC710"
    name = "memory-dependence"
    origin = CONTRACT
    summary = "A run with warm containers gives a different result than one with cold containers."
    why = "A block relies on something it remembers, which is gone when an engine starts it afresh."
    problems = comparison.memory_dependence

    def examples(self) -> Iterator[Example]:
        def trace(warm: str) -> dict[str, Any]:
            return {"cold": {"workspace": {"src/t.py": "e1"}}, "warm": {"workspace": {"src/t.py": warm}}}

        yield Example(trace("f2"), trace("e1"), path=TRACE_PATH)


class RevisionLimit(TraceRule):
    code = "BC711"
    name = "revision-limit"
    origin = ENGINES
    summary = "A block was revised more than ten times."
    why = "Every revision costs time and money; the eleventh is refused so that a person thinks again."
    problems = traces.revision_limit

    def examples(self) -> Iterator[Example]:
        again = ("block_revision", "p", {"feedback": "Add tests."})
        yield Example(events(*[again] * 11), events(*[again] * 10), path=TRACE_PATH)


class RetryLimit(TraceRule):
    code = "BC712"
    name = "retry-limit"
    origin = ENGINES
    summary = "A block ran more often than its retries allow."
    why = "The limit keeps a broken block from running forever."
    problems = traces.retry_limit

    def examples(self) -> Iterator[Example]:
        start = ("node_started", "p")
        first, second = (("node_retry", "p", {"attempt": n, "maxRetries": 1}) for n in (1, 2))
        yield Example(
            events("folder_created", start, first, start, second, start),
            events("folder_created", start, first, start),
            path=TRACE_PATH,
        )


class GateOnFailure(TraceRule):
    code = "BC715"
    name = "gate-on-failure"
    origin = CONTRACT
    summary = "A gate was opened for a block that failed."
    why = "The run can't continue from a failed block, which shows its error instead of a choice."
    problems = traces.gate_on_failure

    def examples(self) -> Iterator[Example]:
        gate = ("block_gate_open", "p", {"prompt": f"Block produced: {output()['summary']}"})
        start = ("folder_created", ("node_started", "p"))
        yield Example(
            events(*start, ("node_failed", "p", {"reason": "own"}), gate),
            events(*start, ("node_completed", "p"), gate),
            path=TRACE_PATH,
        )
