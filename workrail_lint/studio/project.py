"""The data of a page: all workflows of a project, and what other commands found out about them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.result import Ok
from workrail_lint.base.terminal import one_line
from workrail_lint.base.version import VERSION
from workrail_lint.base.wording import counted
from workrail_lint.findings import Severity
from workrail_lint.studio.inputs import Inputs
from workrail_lint.studio.page_data import BuiltinView, Data, PackedWorkflows, ProjectView, Reports
from workrail_lint.studio.workflow import Source, workflow_view
from workrail_lint.systems.workrail.catalog.catalog import Catalog, Feature
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.engine_target import HashMode
from workrail_lint.systems.workrail.diff import compare, outline
from workrail_lint.systems.workrail.graph.texts import condition_text
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep
from workrail_lint.systems.workrail.model.workflow import Step, Workflow
from workrail_lint.systems.workrail.semver import judge_change

# What changed in a workflow that the revision does not have.
NEW: Data = {"isNew": True, "list": []}


class FindingChanges(NamedTuple):
    """The findings of a file that came and went since a revision: severity, code and message, the worst first."""

    new: list[tuple[Severity, str, str]]
    gone: list[tuple[Severity, str, str]]


def project_data(
    name: str,
    sources: Iterable[Source],
    inputs: Inputs,
    catalog: Catalog,
    *,
    changes: Mapping[str, Data] | None = None,
    revision: str | None = None,
    reasons: Mapping[str, str] | None = None,
    committed: Mapping[str, int] | None = None,
) -> Data:
    """Return everything a page shows.

    Each source is looked at once, so they need not be in memory together. `changes` by path, as `changes_since` and
    `NEW` say them. `reasons` say why the rules exist, by their names. `committed` says when a file was last
    changed in git, by path.
    """
    inputs = inputs.redacted
    runs = [dict(run) for run in inputs.runs]
    observed = inputs.observed_workflows
    workflows = PackedWorkflows(has_revision=revision is not None)
    users: dict[str, list[str]] = {}  # the workflows that use a builtin
    for source in sources:
        view = workflow_view(source)
        own = set() if view.hash is None else {view.hash}
        # What the public engine pins has another hash than the IR; making it takes a while.
        pinned = own | _pinned(source) if view.id in observed else own
        view.reports = Reports(
            inputs.coverage_of(view.id, own),
            inputs.mutation_of(view.id, own),
            inputs.sessions_of(view.id, pinned),
            inputs.cost_of(view.id, own),
            (committed or {}).get(source.path),
        )
        for run in runs:
            if run.get("workflow") == view.id:
                run["stale"] = run.get("hash") not in pinned
        if changes is not None and source.path in changes:
            view.changes = changes[source.path]
        workflows.add(view)
        for ident in sorted(view.builtins):
            users.setdefault(ident, []).append(view.id)
    return ProjectView(
        project=name,
        tool=VERSION,
        revision=revision,
        reasons=dict(reasons or {}),
        workflows=workflows,
        runs=runs,
        goldens=inputs.pending_goldens,
        catalog=_builtins(catalog, users),
        locks=inputs.lock_counts,
    ).as_json()


def _pinned(source: Source) -> set[str]:
    """Return the hashes under which the public engine keeps this version, whatever its mode."""
    compiled = source.checked.compiled
    if compiled is None:
        return set()
    targets = [compiled.engine_target(mode) for mode in HashMode]
    return {digest(canonical_bytes(target.value)) for target in targets if isinstance(target, Ok)}


def changes_since(before: CompiledWorkflow, now: CompiledWorkflow) -> Data:
    """Return what changed in a workflow, and which version that needs."""
    old, new = outline(before.ir), outline(now.ir)
    changes = [change.as_json() for change in compare(old, new)]
    moved = {change["step"].rpartition("/")[2] for change in changes if change["kind"] == "moved"}
    left = {step.id for step in _all_steps(now.program)}
    left = left - moved or left
    for change in changes:
        if change["kind"] == "removed":
            change |= _removed_step(before.program, change["step"], left)
    judgement = judge_change(now.workflow_id, old, new)
    due = {"base": judgement.base, "declared": judgement.declared, "required": judgement.required.word}
    return {"isNew": False, "list": changes, "version": {**due, "due": judgement.due, "ok": judgement.ok}}


def _all_steps(program: Program) -> list[ProgramStep]:
    return [each for step in program.steps for each in (step, *step.body)]


def _removed_step(program: Program, key: str, left: set[str]) -> Data:
    """Return the title and the prompt of a step that is gone, and which step that is left stood beside it."""
    loop, _, ident = key.rpartition("/")
    beside: Sequence[ProgramStep] = program.steps
    for step in program.steps:
        if loop == step.id:
            beside = step.body
    at = next(number for number, step in enumerate(beside) if step.id == ident)
    gone = beside[at]
    data = {"title": gone.title, "text": gone.prompt}
    if gone.run_condition is not None:
        data["condition"] = condition_text(gone.run_condition)
    remaining = [number for number, step in enumerate(beside) if step.id in left]
    same_lane = [number for number in remaining if _condition(beside[number]) == _condition(gone)]
    if same_lane or remaining:
        nearest = min(same_lane or remaining, key=lambda number: (abs(number - at), number))
        data["after" if nearest < at else "before"] = beside[nearest].id
    return data


def _condition(step: ProgramStep) -> object:
    return None if step.run_condition is None else step.run_condition.raw


_LONGEST = 160  # characters of a message in a summary
_SIGNS = {Severity.ERROR: "❌", Severity.WARNING: "⚠️"}
_MOST = 8  # changes, findings and sessions that a summary lists


def markdown_summary(data: Mapping[str, Any], findings: Mapping[str, FindingChanges], replays: Sequence[Data]) -> str:
    """Return what a reviewer wants to know about the changes of a page, short enough to be read.

    `findings` are those that came and went, by path; `replays` are sessions played on the new version.
    """
    workflows = list(data["workflows"])
    lines = [f"# {_plain(data['project'])} since {_code(data['revision'])}", ""]
    changed = [each for each in workflows if _has_changed(each) or findings.get(each["path"])]
    if not changed:
        lines += ["No workflow changed in behaviour.", ""]
    for workflow in changed:
        lines += [f"## {_plain(workflow['name'])}", "", _plain(workflow["path"]), ""]
        lines += [f"- {line}" for line in _workflow_lines(workflow, findings.get(workflow["path"]), replays)] + [""]
    lines += _test_lines(data, workflows)
    return "\n".join(lines)


def _has_changed(workflow: Data) -> bool:
    changes = workflow.get("changes") or {}
    return bool(changes.get("isNew") or changes.get("list") or workflow.get("broken"))


def _workflow_lines(workflow: Data, findings: FindingChanges | None, replays: Sequence[Data]) -> Iterator[str]:
    changes = workflow.get("changes") or {}
    if workflow.get("broken"):
        yield f"❌ does not compile: {_plain(workflow['broken']['message'])}"
    if changes.get("isNew"):
        yield "new"
    version = changes.get("version")
    if version is not None and changes["list"]:
        words = f"a {version['required']} change needs version {version['due']}"
        yield f"✅ version {version['declared']}" if version["ok"] else f"❌ {words}, it says {version['declared']}"
    titles = {step["id"]: step["title"] for step in workflow["steps"]}
    yield from _limited([_change_words(each, titles) for each in changes.get("list", ())], "change")
    if findings is not None:
        new = [f"{_SIGNS[level]} new: {_code(code)} {_plain(text)}" for level, code, text in findings.new]
        gone = [f"✅ gone: {_code(code)} {_plain(text)}" for _, code, text in findings.gone]
        yield from _limited(new, "new finding")
        yield from _limited(gone, "finding that is gone")
    coverage = workflow.get("coverage")
    if coverage is not None and not coverage["stale"]:
        yield f"{coverage['total']['covered']} of {counted(coverage['total']['points'], 'goal')} shown by tests"
    breaking = [each for each in replays if each.get("workflowId") == workflow["id"]]
    broken = [each for each in breaking if each.get("verdict") in ("breaks", "invalid")]
    if breaking:
        yield f"{'❌' if broken else '✅'} {len(broken)} of {counted(len(breaking), 'replayed session')} would break"
    yield from _limited([f"{_code(each.get('at'))}: {_plain(each.get('reason'))}" for each in broken], "session")


def _limited(lines: Sequence[str], noun: str) -> Iterator[str]:
    yield from dict.fromkeys(lines[:_MOST])
    if len(lines) > _MOST:
        yield f"and {counted(len(lines) - _MOST, f'more {noun}')}"


def _change_words(change: Data, titles: Mapping[str, str]) -> str:
    ident = (change["step"] or "").rpartition("/")[2]
    step = f"“{_plain(change.get('title') or titles.get(ident, ident))}”"
    match change["kind"]:
        case "added":
            return f"step {step} is new"
        case "removed":
            return f"step {step} is gone"
        case "moved":
            return f"step {step} moved"
        case "renamed":
            return f"step {step} has another id, {_code(ident)}"
    where = f" of {step}" if ident else ""
    short = [value for value in (change.get("before"), change.get("after")) if isinstance(value, str | int | float)]
    if len(short) == 2 and all(len(str(value)) <= 40 for value in short):
        return f"{_plain(change['facet'])}{where}: {_code(short[0])} → {_code(short[1])}"
    return f"{_plain(change['facet'])}{where} changed"


def _test_lines(data: Mapping[str, Any], workflows: Sequence[Data]) -> list[str]:
    """Return how the tests ended, what is pending, and how much is wrong in all."""
    outcomes = [run["outcome"]["state"] for run in data["runs"] if "outcome" in run]
    failed = [run for run in data["runs"] if run.get("outcome", {}).get("state") in ("failed", "error")]
    lines = []
    if outcomes:
        lines.append(f"- {'❌' if failed else '✅'} {len(failed)} of {counted(len(outcomes), 'test')} failed")
    lines += [
        f"  - {line}"
        for line in _limited(
            [f"{_code(run['name'])}: {_plain(run['outcome'].get('message'))}" for run in failed], "test"
        )
    ]
    goldens = data["goldens"] or {}
    if goldens.get("groups"):
        odd = len(goldens.get("unexplained") or ())
        more = f", {odd} of them not explained by an edit" if odd else ""
        lines.append(f"- ⚠️ {counted(len(goldens['groups']), 'change')} of goldens to review{more}")
    severities = Counter(finding["severity"] for workflow in workflows for finding in workflow["findings"])
    lines.append(f"- {counted(severities['error'], 'error')} and {counted(severities['warning'], 'warning')} in all")
    return ["## Project", "", *lines, ""]


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~@!])")


def _plain(text: object) -> str:
    """Return a text in one line, not too long, that Markdown takes as it is."""
    line = one_line(str(text or ""))
    return _SPECIAL.sub(r"\\\1", line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()} …")


def _code(text: object) -> str:
    return f"`{one_line(str(text)).replace('`', chr(39))}`"


def _builtins(catalog: Catalog, users: Mapping[str, list[str]]) -> list[BuiltinView]:
    """Return every builtin: what it adds, and which workflows use it."""
    result: list[BuiltinView] = []

    def add(kind: str, ident: str, title: str, summary: str, **more: Any) -> None:
        result.append(BuiltinView(kind, ident, title, summary, **more, usedBy=users.get(ident, [])))

    for feature in catalog.features.values():
        add("feature", feature.id, feature.title, feature.summary, text="\n".join(_feature_lines(feature)))
    for ref in catalog.refs.values():
        add("ref", ref.id, ref.title, ref.summary, text=ref.text)
    for pack in catalog.contracts.values():
        add("contract", pack.id, pack.title, pack.summary, schema=pack.schema, example=pack.example)
    for ident, routine in catalog.templates.items():
        model = workflow_model(routine.definition)
        add("template", ident, model.name, model.description, steps=_template_steps(model, is_used=ident in users))
    return result


def _template_steps(routine: Workflow, *, is_used: bool) -> list[Data]:
    """Return what a template puts in place of its call, without the prompts where nothing uses it: pages stay small."""
    return [
        {"id": step.id, "title": step.title or "", **({"prompt": _prompt(step)} if is_used else {})}
        for step in routine.steps
    ]


def _prompt(step: Step) -> str:
    return (step.prompt or "") if step.kind == "standard" else ""


def _feature_lines(feature: Feature) -> list[str]:
    lines = []
    for section in ("constraints", "procedure", "verify"):
        for value in getattr(feature, section):
            parts = value if isinstance(value, list) else [{"text": value}]
            text = "".join(part.get("text", f"[{part.get('refId')}]") for part in parts)
            lines.append(f"{section}: {text}")
    return lines
