"""The data of a page: all workflows of a project, and what other commands found out about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.result import Ok
from workrail_lint.base.version import VERSION
from workrail_lint.studio.inputs import Inputs, of_workflow
from workrail_lint.studio.workflow import Source, workflow_data
from workrail_lint.systems.workrail.catalog.catalog import Catalog, Feature
from workrail_lint.systems.workrail.compiler.engine_target import HashMode
from workrail_lint.systems.workrail.diff import Change

Data = dict[str, Any]
_LONG = 80
_OF_MUTATION = ("stale", "mutants", "killed", "inert", "score", "survived")
_OF_COST = ("stale", "cost")


def project_data(
    name: str,
    sources: Sequence[Source],
    inputs: Inputs,
    catalog: Catalog,
    *,
    changes: Mapping[str, list[Change] | None] | None = None,
    revision: str | None = None,
    reasons: Mapping[str, str] | None = None,
    committed: Mapping[str, int] | None = None,
) -> Data:
    """Everything a page shows. `changes` by path; None for a workflow that is new since the revision. `reasons` say why
    the rules exist, by their names. `committed` says when a file was last changed in git, by path."""
    workflows = []
    runs = [dict(run) for run in inputs.runs]
    # What the public engine pins has another hash than the IR; making it takes a while.
    observed = {run["workflow"] for run in runs if run["kind"] == "session"}
    observed |= {item.get("workflowId") for item in (inputs.sessions or {}).get("workflows", ())}
    for source in sources:
        data = workflow_data(source)
        ident = data["id"]
        own = {hashed for hashed in (data["hash"],) if hashed is not None}
        pinned = own | _pinned(source) if ident in observed else own
        data["coverage"] = _coverage(of_workflow(inputs.coverage, ident, own))
        data["mutation"] = _members(of_workflow(inputs.mutation, ident, own), _OF_MUTATION)
        data["sessions"] = of_workflow(inputs.sessions, ident, pinned)
        data["cost"] = _members(of_workflow(inputs.cost, ident, own), _OF_COST)
        data["committed"] = (committed or {}).get(source.path)
        for run in runs:
            if run.get("workflow") == ident:
                run["stale"] = run.get("hash") not in pinned
        if changes is not None:
            data["changes"] = _changes(changes[source.path]) if source.path in changes else None
        workflows.append(data)
    return {
        "version": 1,
        "strings": _shared_texts(workflows, runs),
        "reasons": dict(reasons or {}),
        "project": name,
        "tool": VERSION,
        "revision": revision,
        "workflows": workflows,
        "runs": runs,
        "goldens": _goldens(inputs.goldens),
        "catalog": catalog_data(catalog, workflows),
        "locks": _locks(inputs.locks),
    }


def _shared_texts(workflows: list[Data], runs: list[Data]) -> list[str]:
    """Long texts that occur more than once, taken out of the prompts that have them."""
    prompts = [step["pieces"] for workflow in workflows for step in workflow["steps"]]
    prompts += [turn["prompt"] for run in runs for turn in run.get("turns", ()) if "prompt" in turn]
    counts = Counter(piece[2] for pieces in prompts for piece in pieces if len(piece[2]) > _LONG)
    numbers = {text: number for number, text in enumerate(text for text, count in counts.items() if count > 1)}
    for pieces in prompts:
        for piece in pieces:
            piece[2] = numbers.get(piece[2], piece[2])
    return list(numbers)


def _pinned(source: Source) -> set[str]:
    """The hashes under which the public engine keeps this version, whatever its mode."""
    compiled = source.checked.compiled
    if compiled is None:
        return set()
    targets = [compiled.engine_target(mode) for mode in HashMode]
    return {digest(canonical_bytes(target.value)) for target in targets if isinstance(target, Ok)}


def _members(entry: Data | None, names: tuple[str, ...]) -> Data | None:
    """An entry without what the page does not show."""
    return None if entry is None else {name: entry[name] for name in names if name in entry}


def _coverage(entry: Data | None) -> Data | None:
    """A coverage entry with every test named once."""
    if entry is None:
        return None
    tests = sorted({test for point in entry.get("points") or () for test in point.get("tests") or ()})
    numbers = {test: number for number, test in enumerate(tests)}
    points = [
        {
            "kind": point["kind"],
            "place": point["place"],
            "case": point["case"],
            "tests": [numbers[test] for test in point.get("tests") or ()],
        }
        for point in entry.get("points") or ()
    ]
    return {
        "stale": bool(entry.get("stale")),
        "total": entry.get("total"),
        "kinds": entry.get("kinds"),
        "tests": tests,
        "points": points,
    }


def _changes(changes: list[Change] | None) -> Data:
    if changes is None:
        return {"isNew": True, "list": []}
    return {"isNew": False, "list": [change.as_json() for change in changes]}


def _goldens(listed: Data | None) -> Data | None:
    if listed is None:
        return None
    return {
        "groups": listed.get("groups", []),
        "pending": [
            {
                "golden": item.get("golden"),
                "state": item.get("state"),
                "differences": len(item.get("differences") or ()),
            }
            for item in listed.get("pending") or ()
            if isinstance(item, dict)
        ],
    }


def _locks(report: Data | None) -> Data | None:
    if report is None:
        return None
    shown = ("totalLocks", "coveredLocks", "provenLocks", "byCategory", "covered", "uncovered")
    return {name: report[name] for name in shown if name in report}


def catalog_data(catalog: Catalog, workflows: Sequence[Data]) -> list[Data]:
    """Every builtin: what it adds, and which workflows use it."""
    users: dict[str, list[str]] = {}
    for workflow in workflows:
        for ident in sorted(_used(workflow)):
            users.setdefault(ident, []).append(workflow["id"])
    result: list[Data] = []

    def add(kind: str, ident: str, title: str, summary: str, **more: Any) -> None:
        result.append(
            {"kind": kind, "id": ident, "title": title, "summary": summary, **more, "usedBy": users.get(ident, [])}
        )

    for feature in catalog.features.values():
        add("feature", feature.id, feature.title, feature.summary, text="\n".join(_feature_lines(feature)))
    for ref in catalog.refs.values():
        add("ref", ref.id, ref.title, ref.summary, text=ref.text)
    for pack in catalog.contracts.values():
        add("contract", pack.id, pack.title, pack.summary, schema=pack.schema, example=pack.example)
    for ident, routine in catalog.templates.items():
        about = routine.definition
        add("template", ident, about["name"], about["description"], steps=_steps(about, is_used=ident in users))
    return result


def _steps(routine: Data, *, is_used: bool) -> list[Data]:
    """Return what a template puts in place of its call, without the prompts where nothing uses it: pages stay small."""
    shown = ("id", "title", "prompt") if is_used else ("id", "title")
    steps = [step for step in routine.get("steps", ()) if isinstance(step, dict)]
    return [{name: str(step.get(name, "")) for name in shown} for step in steps]


def _feature_lines(feature: Feature) -> list[str]:
    lines = []
    for section in ("constraints", "procedure", "verify"):
        for value in getattr(feature, section):
            parts = value if isinstance(value, list) else [{"text": value}]
            text = "".join(part.get("text", f"[{part.get('refId')}]") for part in parts)
            lines.append(f"{section}: {text}")
    return lines


def _used(workflow: Data) -> set[str]:
    used = {*workflow.get("features", ()), *workflow.get("contracts", {})}
    for step in workflow["steps"]:
        used |= {ident for kind, ident, _ in step["pieces"] if ident and kind in ("ref", "feature", "template")}
    return used
