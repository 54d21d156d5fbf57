"""The files of an output folder, how they fit the definition and each other, and their paths."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from workrail_lint.base.timestamps import Instant, instant_of
from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.model.documents import StudioWorkflow, TraceStep, Transition
from workrail_lint.systems.blocks.outputs import created, discrepancy, reported
from workrail_lint.systems.blocks.paths import (
    REJECTED_SUFFIX,
    is_allowed,
    is_below_output,
    is_rel_path,
    normalized,
    output_name,
)
from workrail_lint.systems.blocks.plan import Lanes, Plan, nodes_of
from workrail_lint.systems.blocks.prompts import previous_block
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, ENGINES, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.outputs import listed_paths
from workrail_lint.systems.blocks.rules.run_records import patterns_in
from workrail_lint.systems.blocks.rules.samples import (
    MOUNT_PATH,
    TRACE_PATH,
    WORKFLOW_PATH,
    edge,
    env_path,
    environment,
    group,
    lane,
    mount,
    node,
    output,
    output_path,
    workflow,
)
from workrail_lint.systems.blocks.units import Unit, UnitFile
from workrail_lint.systems.blocks.vocabulary import ConditionType, OutputStatus
from workrail_lint.systems.blocks.wording import shown, shown_list


class FolderRule(BlockRule):
    """A rule about an output folder as a whole."""

    kinds = (BlockKind.FOLDER,)


def _chain() -> dict[str, Any]:
    """Return three nodes in a row: a planner, a coder and a reviewer."""
    nodes = (node("a"), node("b", "coding", "Build it."), node("c", "reviewer", "Review it."))
    return workflow(*nodes, edges=[edge("a", "b"), edge("b", "c")])


def _done(ident: str, kind: str, minute: int) -> dict[str, Any]:
    return output(ident, kind, timestamp=f"2026-03-01T10:{minute:02d}:00Z")


CHAIN: dict[str, Any] = {
    WORKFLOW_PATH: _chain(),
    output_path("a"): _done("a", "plan", 0),
    output_path("b"): _done("b", "dev", 1),
    output_path("c"): _done("c", "review", 2),
}
"""A definition and the outputs of a run that went well."""


def without(*paths: str) -> dict[str, Any]:
    return {path: value for path, value in CHAIN.items() if path not in paths}


class FolderForeignFile(FolderRule):
    code = "BC601"
    name = "folder-foreign-file"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The output folder has a file other than outputs, or a rejected output."
    why = "Only outputs are collected from lanes and read by later blocks; other files are lost or in the way."

    def check_unit(self, unit: Unit, report: Report) -> None:
        for path in unit.folder.foreign:
            report(
                "",
                f"{shown(os.path.basename(path))} is not an output; the folder may contain only 'block-<id>.json'",
                path=path,
            )
        for path in unit.folder.rejected:
            ident = os.path.basename(path)[len("block-") : -len(f".json{REJECTED_SUFFIX}")]
            report("", f"the output of {shown(ident)} was rejected as unusable", path=path, severity=Severity.INFO)

    def examples(self) -> Iterator[Example]:
        yield Example(
            "Remember the milk.\n",
            "Remember the milk.\n",
            path=".output/notes.md",
            files=CHAIN,
            options={"good_path": "notes.md"},
        )
        yield Example(
            "{not json",
            CHAIN[output_path("b")],
            path=".output/block-b.json.rejected",
            files=without(output_path("b")),
            options={"good_path": output_path("b")},
        )


class OutputUnknownNode(FolderRule):
    code = "BC602"
    name = "output-unknown-node"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "An output belongs to no agent node of the definition."
    why = "It is left over from another run or has a wrong id; the block that it was meant for counts as missing."
    example_path = output_path("zz")

    def check_unit(self, unit: Unit, report: Report) -> None:
        if unit.definition is None or unit.hides_blocks:
            return
        for ident, file in unit.outputs.items():
            node = unit.definition.by_id.get(ident)
            if node is None or node.is_control:
                what = (
                    "is a control node, which has no output" if node is not None else "is not a node of the definition"
                )
                report("/blockId", f"{shown(ident)} {what}", path=file.path)

    def examples(self) -> Iterator[Example]:
        yield self.example(
            output("zz"), output("b"), files=without(output_path("b")), options={"good_path": output_path("b")}
        )


class OutputGap(FolderRule):
    code = "BC603"
    name = "output-gap"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A node that must have run has no output."
    why = "Every block leaves a file, even a failed one; a gap means that the run continued without a result."

    def check_unit(self, unit: Unit, report: Report) -> None:
        self._output_gap(unit, report)
        self._previous_output_missing(unit, report)

    def _output_gap(self, unit: Unit, report: Report) -> None:
        plan = unit.plan
        if plan is None:
            return
        latest = max((plan.position[ident] for ident in unit.outputs if ident in plan.position), default=-1)
        for ident in sorted(unit.due, key=lambda due: plan.step_index[due]):
            if plan.position[ident] < latest:
                report(
                    "",
                    f"the block {shown(ident)} must have run, but {output_name(ident)} is missing",
                    path=unit.folder.path,
                )

    def _previous_output_missing(self, unit: Unit, report: Report) -> None:
        recorded: set[str] = set()
        for ident, file in unit.environments.items():
            if file.environment.has("PREVIOUS_BLOCK_ID"):
                recorded.add(ident)
                previous = file.environment.previous_block_id
                if previous and previous not in unit.outputs and self._has_folder(unit):
                    report("/PREVIOUS_BLOCK_ID", _missing(ident, previous), path=file.path)
        definition, plan = unit.definition, unit.plan
        if definition is None or plan is None:
            return
        for ident, file in unit.outputs.items():
            if ident in recorded or ident not in plan.position:
                continue
            previous = previous_block(definition, plan, ident, unit.ran)
            if previous and previous not in unit.outputs:
                report("", _missing(ident, previous), path=file.path)

    @staticmethod
    def _has_folder(unit: Unit) -> bool:
        """Return whether outputs were looked for; a record alone does not show that."""
        return bool(unit.folder.path)

    def examples(self) -> Iterator[Example]:
        yield Example(
            CHAIN[output_path("c")],
            CHAIN[output_path("b")],
            path=output_path("c"),
            files=without(output_path("b"), output_path("c")),
            options={"good_path": output_path("b"), "found_at": ".output"},
        )
        yield Example(
            environment("b", "1", "a"),
            environment("b", "1", ""),
            path=env_path("b"),
            files={output_path("b"): CHAIN[output_path("b")]},
        )


def _missing(ident: str, previous: str) -> str:
    return f"{shown(ident)} follows {shown(previous)}, but {output_name(previous)} is missing"


class BlockIdRepeated(FolderRule):
    code = "BC607"
    name = "block-id-repeated"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "Two outputs claim to be of the same block."
    why = "One of them hides the result of another block, which counts as missing."
    example_path = output_path("b")

    def check_unit(self, unit: Unit, report: Report) -> None:
        sharing: dict[str, list[UnitFile]] = {}
        for file in unit.all_outputs:
            if file.output.has("blockId"):
                sharing.setdefault(file.output.block_id, []).append(file)
        for ident, files in sharing.items():
            right = unit.outputs.get(ident)
            owner = right if right in files else files[0]
            for file in files:
                if file is not owner:
                    names = " and ".join(
                        shown(os.path.basename(each.path)) for each in (file, owner) if each is not None
                    )
                    report("/blockId", f"{names} both have the block id {shown(ident)}", path=file.path)

    def examples(self) -> Iterator[Example]:
        yield self.example(output("a"), output("b"), files={output_path("a"): output("a", "plan")})


def _timestamp(unit: Unit, ident: str) -> str:
    """Return the timestamp of a node's output; empty if there is none."""
    return unit.outputs[ident].output.timestamp if ident in unit.outputs else ""


def _finished(unit: Unit, ident: str) -> Instant | None:
    return instant_of(_timestamp(unit, ident))


class OutputTimeOrder(FolderRule):
    code = "BC605"
    name = "output-time-order"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A block finished before one that ran ahead of it."
    why = "Sequential blocks wait for each other; a file older than its predecessor's is left over from another run."

    def check_unit(self, unit: Unit, report: Report) -> None:
        self._output_time_order(unit, report)
        for at, entry in enumerate(unit.plan.entries if unit.plan is not None else ()):
            if not isinstance(entry, Lanes):
                continue
            for ident in entry.nodes:
                later = _earlier_end(unit, ident, at)
                if later is not None:
                    mine, theirs = _timestamp(unit, ident), _timestamp(unit, later)
                    text = f"the lane {shown(ident)} ended at {mine}, after {shown(later)} at {theirs}"
                    report("/timestamp", text, path=unit.outputs[ident].path)

    def _output_time_order(self, unit: Unit, report: Report) -> None:
        plan = unit.plan
        for ident, file in unit.outputs.items():
            if plan is None or ident not in plan.position:
                continue
            earlier = _predecessor(unit, ident)
            mine, theirs = _finished(unit, ident), None if earlier is None else _finished(unit, earlier)
            if mine is not None and theirs is not None and mine < theirs:
                mine_text, their_text = _timestamp(unit, ident), _timestamp(unit, str(earlier))
                text = f"{shown(ident)} ended at {mine_text}, before {shown(earlier)} at {their_text}"
                report("/timestamp", text, path=file.path)

    def examples(self) -> Iterator[Example]:
        early = {**CHAIN[output_path("b")], "timestamp": "2026-03-01T09:00:00Z"}
        yield Example(
            early, CHAIN[output_path("b")], path=output_path("b"), files=without(output_path("b"), output_path("c"))
        )
        yield Example(lane("a", 5, "a.py"), lane("a", 2, "a.py"), path=output_path("a"), files=GROUP_FILES)


def _predecessor(unit: Unit, ident: str) -> str | None:
    """Return the node of the nearest earlier entry with a file; None if that entry is a group, which BC606 checks."""
    assert unit.plan is not None
    for entry in reversed(unit.plan.entries[: unit.plan.position[ident]]):
        there = [node for node in nodes_of(entry) if node in unit.outputs]
        if there:
            return None if isinstance(entry, Lanes) else there[0]
    return None


def _group_flow() -> dict[str, Any]:
    nodes = (node("a", "coding", "Do a."), node("b", "coding", "Do b."), node("d", "coding", "Do d."))
    return workflow(*nodes, edges=[edge("a", "d"), edge("b", "d")], parallelGroups=[group("a", "b")])


GROUP_FILES: dict[str, Any] = {
    WORKFLOW_PATH: _group_flow(),
    output_path("b"): lane("b", 1, "b.py"),
    output_path("d"): lane("d", 3, "d.py"),
}
"""A group of a and b, then d; the output of a is left to the example."""


def _earlier_end(unit: Unit, ident: str, at: int) -> str | None:
    """Return the first block after an entry that ended before one of its lanes."""
    assert unit.plan is not None
    mine = _finished(unit, ident)
    for entry in unit.plan.entries[at + 1 :] if mine is not None else ():
        for later in nodes_of(entry):
            theirs = _finished(unit, later)
            if mine is not None and theirs is not None and theirs < mine:
                return later
    return None


class BlockTypeUnexpected(FolderRule):
    code = "BC608"
    name = "block-type-unexpected"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The block type of an output does not match its node."
    why = "Viewers and later blocks look for what the node should have produced and find something else."
    fix = "Replace it with the type of the node."
    fix_safety = "unsafe"
    example_path = output_path("b")

    def check_unit(self, unit: Unit, report: Report) -> None:
        known = unit.definition.by_id if unit.definition is not None else {}
        for ident, file in unit.outputs.items():
            expected = known[ident].block_type if ident in known else None
            written = file.output.block_type
            if expected is not None and written not in (None, expected.value):
                role = known[ident].type
                text = f"the block type is {shown(written)}, but a {role} node produces {shown(expected.value)}"
                fix = unsafe(f"replace with {expected.value}", Replace("/blockType", expected.value))
                report("/blockType", text, path=file.path, fix=fix)

    def examples(self) -> Iterator[Example]:
        good = CHAIN[output_path("b")]
        yield self.example({**good, "blockType": "plan"}, good, good, files=without(output_path("b")))


class RanDespiteCondition(FolderRule):
    code = "BC612"
    name = "ran-despite-condition"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "A block ran although no transition to it can have applied."
    why = "The run did not follow the definition, or the file is left over from another run."
    example_path = output_path("b")

    def check_unit(self, unit: Unit, report: Report) -> None:
        definition = unit.definition
        if definition is None:
            return
        for ident, file in unit.outputs.items():
            ways = definition.incoming.get(ident, [])
            if ways and ident not in definition.body_of and not any(_can_hold(unit, edge) for edge in ways):
                sources = ", ".join(f"{shown(edge.source)} {_ended(unit, edge.source)}" for edge in ways[:5])
                report("", f"no transition to {shown(ident)} can have applied: {sources}", path=file.path)

    def examples(self) -> Iterator[Example]:
        nodes = (node("a"), node("b", "coding", "Build it."), node("c", "debugger", "Mend it."))
        flow = workflow(*nodes, edges=[edge("a", "b", "on_success"), edge("a", "c", "on_failure")])
        files: dict[str, Any] = {WORKFLOW_PATH: flow, output_path("a"): output("a", "plan", status="failed")}
        yield self.example(output("b"), output("c"), files=files, options={"good_path": output_path("c")})


def _can_hold(unit: Unit, edge: Transition) -> bool:
    """Return whether a transition may have held, judged by the output of its source."""
    assert unit.definition is not None
    source = unit.definition.by_id[edge.source]
    open_question = source.is_control or edge.source in unit.definition.body_of or unit.plan is None
    match edge.kind:
        case ConditionType.ON_SUCCESS.value:
            unknown = open_question or (edge.source in unit.ran and unit.status(edge.source) is None)
            return unknown or unit.has_succeeded(edge.source)
        case ConditionType.ON_FAILURE.value:
            # A block may say that it completed and still end with an exit code that makes it fail.
            return open_question or edge.source in unit.ran
        case _:
            return True


def _ended(unit: Unit, ident: str) -> str:
    status = unit.status(ident)
    if status is None:
        return "left no usable output"
    return "failed" if status == OutputStatus.FAILED.value else "did not fail"


_LISTS = ("filesModified", "filesCreated")
# Paths times patterns: far above any project, and a limit for files made to keep the linter busy.
_MOST_LOOKS = 500_000
_B = output_path("b")


def listed_files(unit: Unit) -> Iterator[tuple[str, UnitFile, str, str]]:
    """Yield node, file, pointer and normalized path of each file that the outputs list."""
    for ident, file in unit.outputs.items():
        for name in _LISTS:
            for entry in listed_paths(file.output, name):
                yield ident, file, entry.pointer, entry.path


class RestrictedPath(BlockRule):
    code = "BC609"
    name = "restricted-path"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A block edited a file that the mount does not let it edit, whether it reported the edit or not."
    why = "Restrictions say what a run may change; an edit elsewhere was never agreed to."
    kinds = (BlockKind.FOLDER, BlockKind.TRACE)

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for step in document.trace.model.steps if document.kind is BlockKind.TRACE else ():
            for path in hidden_edits(step):
                report(step.at("detected"), hidden_edit(path, step_restrictions(step)))

    def check_unit(self, unit: Unit, report: Report) -> None:
        self._restricted_path(unit, report)
        for _, file, pointer, path in listed_files(unit) if unit.is_read_only else ():
            if not is_below_output(path):
                report(pointer, f"{shown(path)} can't have been edited: the mount is read-only", path=file.path)

    def _restricted_path(self, unit: Unit, report: Report) -> None:
        known: dict[str, list[str] | None] = {}
        looks = 0
        for ident, file, pointer, path in listed_files(unit):
            if ident not in known:
                known[ident] = _restrictions(unit, ident)
            patterns = known[ident]
            if not patterns or not is_rel_path(path):
                continue
            looks += len(patterns)
            if looks > _MOST_LOOKS:
                return
            if not is_allowed(path, patterns):
                report(
                    pointer, f"{shown(path)} matches none of the restrictions {shown_list(patterns)}", path=file.path
                )

    def examples(self) -> Iterator[Example]:
        files: dict[str, Any] = {**without(_B), MOUNT_PATH: mount(fileRestrictions=["src/**"])}
        good = CHAIN[_B]
        yield Example({**good, "filesModified": ["docs/a.md"]}, good, path=_B, files=files)

        def trace(changed: str) -> dict[str, Any]:
            step = {"node": "b", "stepIndex": 0, "env": {"FILE_RESTRICTIONS": '["src/**"]'}, "synthetic": None}
            return {"steps": [{**step, "output": output("b"), "detected": ["src/a.py", changed]}]}

        yield Example(trace("docs/a.md"), trace("src/a.py"), path=TRACE_PATH)
        files = {output_path("r"): output("r", "review"), MOUNT_PATH: mount(readOnly=True)}
        bad = output("s", "review", filesModified=["a.py"])
        yield Example(bad, output("s", "review"), path=output_path("s"), files=files)


def step_restrictions(step: TraceStep) -> list[str]:
    """Return the restrictions that a recorded block ran under."""
    return patterns_in(step.env.get("FILE_RESTRICTIONS", "[]")) or []


def hidden_edits(step: TraceStep) -> list[str]:
    """Return the paths that a recorded block changed without reporting it, and that no restriction allows."""
    if not step.has("detected"):
        return []
    listed = set(reported(step.output)) if step.has("output") else set()
    patterns = step_restrictions(step)
    unreported = sorted({normalized(path) for path in step.detected} - listed)
    return [path for path in unreported if patterns and not is_allowed(path, patterns)]


def hidden_edit(path: str, patterns: list[str]) -> str:
    """Return what is wrong with an edit that a block made without saying so."""
    allowed = f"matches none of the restrictions {shown_list(patterns)}" if patterns else "is on a read-only mount"
    return f"{shown(path)} was edited but not reported, and {allowed}"


def _restrictions(unit: Unit, ident: str) -> list[str] | None:
    """Return the restrictions a block ran under: those of the mount, else those its environment names."""
    if unit.restrictions is not None or ident not in unit.environments:
        return unit.restrictions
    return patterns_in(unit.environments[ident].environment.file_restrictions)


class FileEditedTwice(FolderRule):
    code = "BC613"
    name = "file-edited-twice"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "Two blocks in a row created the same file, or the block after a group edited a file of a lane again."
    why = "The later block overwrote the file, or one of the two reports is wrong."

    def check_unit(self, unit: Unit, report: Report) -> None:
        self._created_twice(unit, report)
        self._sequential_overlap_with_lane(unit, report)

    def _created_twice(self, unit: Unit, report: Report) -> None:
        definition, plan = unit.definition, unit.plan
        if definition is None or plan is None:
            return
        makers: dict[str, list[str]] = {}
        ways = _Ways(definition)
        for ident in sorted(unit.outputs, key=lambda node: plan.step_index.get(node, -1)):
            whole = unit.outputs[ident].output
            if ident not in plan.position:
                continue
            places = {entry.path: entry.pointer for entry in listed_paths(whole, "filesCreated")}
            for path in created(whole.raw):
                before = [maker for maker in makers.get(path, ()) if ways.lead(maker, ident)]
                if before:
                    text = f"{shown(path)} is created by {shown(ident)}, but {shown(before[-1])} already created it"
                    report(places[path], text, path=unit.outputs[ident].path)
                makers.setdefault(path, []).append(ident)

    def _sequential_overlap_with_lane(self, unit: Unit, report: Report) -> None:
        plan = unit.plan
        for before, after in _behind_groups(plan) if plan is not None else ():
            file = unit.outputs.get(after)
            if file is None:
                continue
            places = {path: pointer for ident, _, pointer, path in listed_files(unit) if ident == after}
            for ident in before:
                for path in reported(unit.outputs[ident].output.raw) if ident in unit.outputs else ():
                    if path in places:
                        report(
                            places[path],
                            f"{shown(path)} was edited by the lane {shown(ident)} too",
                            path=file.path,
                            severity=Severity.INFO,
                        )

    def examples(self) -> Iterator[Example]:
        first = {**CHAIN[output_path("a")], "filesCreated": ["x.py"]}
        files = {**without(_B), output_path("a"): first}
        good = CHAIN[_B]
        yield Example({**good, "filesCreated": ["x.py"]}, {**good, "filesModified": ["x.py"]}, path=_B, files=files)
        files = {path: value for path, value in GROUP_FILES.items() if path != output_path("d")}
        files[output_path("a")] = lane("a", 2, "p.py")
        yield Example(lane("d", 3, "p.py"), lane("d", 3, "d.py"), path=output_path("d"), files=files)


class _Ways:
    """Which nodes transitions lead to, worked out once for each start."""

    def __init__(self, definition: StudioWorkflow) -> None:
        self._following: dict[str, list[str]] = {}
        for each in definition.edges:
            self._following.setdefault(each.source, []).append(each.target)
        self._reached: dict[str, set[str]] = {}

    def lead(self, start: str, end: str) -> bool:
        if start not in self._reached:
            seen: set[str] = set()
            queue = [start]
            for ident in queue:
                new = [target for target in self._following.get(ident, ()) if target not in seen]
                seen.update(new)
                queue += new
            self._reached[start] = seen
        return end in self._reached[start]


def _behind_groups(plan: Plan) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the lanes of each group and the single node right after it."""
    for before, after in zip(plan.entries, plan.entries[1:], strict=False):
        if isinstance(before, Lanes) and not isinstance(after, Lanes):
            yield before.nodes, after.node


class ListedFileAbsent(FolderRule):
    code = "BC615"
    name = "listed-file-absent"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A listed file is not in the workspace, or only through a link that leaves it (workspace known)."
    why = "The report is wrong, the file was lost in a merge, or the edit changed a file outside the workspace."
    example_path = _B

    def check_unit(self, unit: Unit, report: Report) -> None:
        for _, file, pointer, path in listed_files(unit) if unit.tree is not None else ():
            if not is_rel_path(path) or is_below_output(path) or unit.tree is None:
                continue
            link = unit.tree.way_out(path)
            if link is not None:
                report(pointer, f"{shown(path)} leaves the workspace through the link {shown(link)}", path=file.path)
            elif not unit.tree.holds(path):
                report(pointer, f"{shown(path)} is not in the workspace", path=file.path)

    def examples(self) -> Iterator[Example]:
        files: dict[str, Any] = {**without(_B), "src/a.py": "x = 1\n"}
        good = CHAIN[_B]
        yield self.example({**good, "filesModified": ["src/gone.py"]}, good, files=files, options={"block-tree": "."})


class ReportedNotDetected(BlockRule):
    code = "BC616"
    name = "reported-not-detected"
    severity = Severity.WARNING
    origin = CONTRACT
    summary = "The files that a block reports are not those that changed (known from the trace of a run)."
    why = "Merging and review use the report: an unreported file is lost with the lane, or passes unseen."
    kinds = (BlockKind.TRACE,)
    example_path = TRACE_PATH

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for step in document.trace.model.steps:
            if not step.has("detected") or not step.has("output") or step.synthetic:
                continue
            difference = discrepancy(step.output, step.detected)
            if difference is not None:
                hidden = hidden_edits(step)  # worse, and reported as that
                unreported = [path for path in difference.unreported if path not in hidden]
                parts = []
                if unreported:
                    parts.append(f"{shown_list(unreported)} changed without being reported")
                if difference.unchanged:
                    parts.append(f"{shown_list(difference.unchanged)} reported without having changed")
                if parts:
                    report(step.at("detected"), f"{shown(step.node)}: {', '.join(parts)}")

    def examples(self) -> Iterator[Example]:
        def trace(*changed: str) -> dict[str, Any]:
            step = {"node": "b", "stepIndex": 0, "output": output("b", filesModified=list(changed))}
            return {"steps": [{**step, "synthetic": None, "detected": ["a.py"]}]}

        yield self.example(trace(), trace("a.py"))
