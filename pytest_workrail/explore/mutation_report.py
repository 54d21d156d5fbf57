"""What is known of the mutants of a workflow: score, table, survivors, and the report that Stryker's viewer opens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from workrail_lint.base.js import Json
from workrail_lint.base.neutral import one_line
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow

KILLED, SURVIVED, INERT, BOUNDED = "killed", "survived", "inert", "inert-bounded"
_STRYKER_STATUS = {KILLED: "Killed", INERT: "Ignored", BOUNDED: "Ignored"}
# The member of a source that a member of the IR is made from, where the names differ.
_SOURCE_MEMBERS = {"confirmation": "requireConfirmation", "fragments": "promptFragments", "notes": "notesOptional"}


def summary(workflow_id: str, path: str, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The report of one workflow, for `--json`."""
    statuses = Counter(each["status"] for each in results)
    killed, survived = statuses[KILLED], statuses[SURVIVED]
    return {
        "workflowId": workflow_id,
        "path": path,
        "mutants": len(results),
        "killed": killed,
        "inert": statuses[INERT] + statuses[BOUNDED],
        "inertBounded": statuses[BOUNDED],
        "score": score(killed, survived),
        "unchecked": sum(each.get("noticed") == "unchecked" for each in results),
        "survived": [_survivor(each) for each in results if each["status"] == SURVIVED],
        "results": [{name: each[name] for name in ("id", "operator", "place", "status")} for each in results],
    }


def score(killed: int, survived: int) -> float:
    """Killed of those that behave differently, in percent; 100 if there are none."""
    return round(100 * killed / (killed + survived), 1) if killed + survived else 100.0


def _survivor(result: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": result["id"],
        "operator": result["operator"],
        "place": result["place"],
        "change": sentence(result),
        "missing": result["missing"],
    }


def sentence(result: dict[str, Any]) -> str:
    """A survivor in one sentence: the change, and the run that would notice it."""
    return f"If {result['change']}, no scenario would notice; {_run(result['missing'])} would."


def _run(missing: dict[str, Any]) -> str:
    parts = []
    if missing.get("context"):
        parts.append(", ".join(f"{name}: {_short(value)}" for name, value in missing["context"].items()))
    for turn in missing.get("agent", {}).get("turns", ()):
        does = turn["does"].replace("_", " ") if "does" in turn else "another submission"
        parts.append(f"{does} at '{turn['step']}'")
    mode = "" if missing["mode"] == "guided" else f" in mode {missing['mode']}"
    profile = "" if missing["profile"] == "reference" else " under profile locked"
    return ("a run with " + " and ".join(parts) if parts else "a plain run") + mode + profile


def _short(value: Json) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:39] + "…"


def table(results: Sequence[dict[str, Any]], by: str) -> Iterator[str]:
    """Lines with the number of mutants by operator or by place."""
    groups: dict[str, Counter[str]] = {}
    for each in results:
        groups.setdefault(each[by] or "workflow", Counter())[each["status"]] += 1
    width = max((len(name) for name in groups), default=0)
    for name, counts in sorted(groups.items()):
        inert = counts[INERT] + counts[BOUNDED]
        yield f"{name.ljust(width)}  killed {counts[KILLED]:>3}  survived {counts[SURVIVED]:>3}  inert {inert:>3}"


# ------------------------------------------------------------------------------------------------------------- Stryker


def stryker_file(text: bytes, compiled: CompiledWorkflow, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One file of the report: its source, and every mutant with the place in it."""
    source = text.decode("utf-8", "replace")
    document = JsonDocument(source)
    return {
        "language": "json",
        "source": source,
        "mutants": [_stryker_mutant(each, _location(document, compiled, each["pointer"])) for each in results],
    }


def _stryker_mutant(result: dict[str, Any], location: dict[str, Any]) -> dict[str, Any]:
    status = _STRYKER_STATUS.get(result["status"], "Survived" if result.get("visited") else "NoCoverage")
    made = {
        "id": result["id"],
        "mutatorName": result["operator"],
        "description": result["change"],
        "location": location,
        "status": status,
    }
    if result["status"] == KILLED:
        made["statusReason"] = f"noticed by {result['by']} ({result['noticed']})"
    elif result["status"] == SURVIVED:
        made["statusReason"] = sentence(result)
    else:
        made["statusReason"] = result["reason"]
    return made


def _location(document: JsonDocument, compiled: CompiledWorkflow, pointer: str) -> dict[str, dict[str, int]]:
    """Where the author wrote what a mutant changes; what was generated is where it was asked for."""
    parts = pointer.split("/")[1:]
    wanted = pointer
    if len(parts) > 1 and parts[0] == "steps":
        inner = len(parts) > 3 and parts[2] == "body"
        step = compiled.ir["steps"][int(parts[1])]
        step = step["body"][int(parts[3])] if inner else step
        node = compiled.step_by_id.get(step["id"])
        rest = [_SOURCE_MEMBERS.get(part, part) for part in parts[4 if inner else 2 :]]
        base = "" if node is None else node.pointer
        wanted = "/".join([base, *rest]) if base else pointer
    while True:
        span = document.locate(wanted)
        if span is not None or not wanted:
            break
        wanted = wanted.rpartition("/")[0]
    if span is None:
        return {"start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 2}}
    return {
        "start": {"line": span.start.line, "column": span.start.column},
        "end": {"line": span.end.line, "column": span.end.column},
    }


def stryker_report(files: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The mutation testing report, schema version 2."""
    return {
        "$schema": "https://git.io/mutation-testing-schema",
        "schemaVersion": "2",
        "thresholds": {"high": 98, "low": 80},
        "files": files,
    }


# ---------------------------------------------------------------------------------------------------------------- HTML

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{border:1px solid #8886;padding:.2rem .6rem;text-align:left}"
    ".survived{color:#b00020}.killed{color:#0a7d28}code,pre{background:#8882;border-radius:3px;padding:0 .2rem}"
)


def html_page(reports: Sequence[dict[str, Any]]) -> str:
    """One self-contained page of all workflows: scores and survivors."""
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Mutation report</title>",
        f"<style>{_STYLE}</style><h1>Mutation report</h1>",
        "<table><tr><th>workflow<th>score<th>mutants<th>killed<th>survived<th>inert</tr>",
    ]
    for report in reports:
        cells = (f"{report['score']} %", report["mutants"], report["killed"], len(report["survived"]), report["inert"])
        row = "".join(f"<td>{cell}" for cell in cells)
        parts.append(f"<tr><td>{_text(report['workflowId'])}{row}</tr>")
    parts.append("</table>")
    for report in reports:
        if report["survived"]:
            parts.append(f"<h2>{_text(report['workflowId'])}</h2><ul>")
            parts += [
                f"<li class='survived'><code>{_text(each['id'])}</code> {_text(each['change'])}"
                for each in report["survived"]
            ]
            parts.append("</ul>")
    return "\n".join(parts) + "\n"


def _text(text: str) -> str:
    return escape(one_line(text))
