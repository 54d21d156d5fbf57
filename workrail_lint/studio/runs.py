"""Goldens and sessions as stories: every turn with what was answered and what came back, and forks as branches.

A golden names tokens by the order in which they appear. The token that a request carries says which answer it
continues, so that the tree of a run follows from the file alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from workrail_lint.base.js import members_of, objects_of
from workrail_lint.base.redaction import Redactor
from workrail_lint.studio.page_data import BlocksView, Data, TeamView, members
from workrail_lint.systems.base import Picture

# Text of which nobody knows who wrote it, as in reports of earlier versions.
UNKNOWN = "unknown"
# The ids of the steps that the engine adds begin so.
_ENGINES = "wr-system-"
# Where the engine's list of requirements begins, which goldens keep in words.
_REQUIREMENTS = "**OUTPUT REQUIREMENTS:**"
_SLOT = re.compile(r"⟪([A-Z_]+)(?: ([0-9]{1,9}))?⟫")
_TOKENS = ("continueToken", "retryContinueToken", "checkpointToken")


def run_data(golden: Data, name: str, path: str) -> Data | None:
    """Return a golden of any agent contract as a run; None for a file that is no golden we know."""
    if isinstance(golden.get("transcript"), list):
        return _workflow_run(golden, name, path)
    if golden.get("pack") == "team":
        return _team_run(golden, name, path)
    if golden.get("pack") == "block":
        return _block_run(golden, name, path)
    return None


def _workflow_run(golden: Data, name: str, path: str) -> Data:
    metadata, final = members_of(golden.get("metadata")), members_of(golden.get("final"))
    turns = _Story(golden).turns
    return {
        "name": name,
        "path": path,
        "kind": "workflow",
        "workflow": golden.get("workflow"),
        "hash": metadata.get("workflowHash"),
        "profile": golden.get("profile"),
        "mode": golden.get("mode"),
        "status": final.get("status"),
        "blocked": sum(1 for turn in turns if turn["blockers"]),
        "gaps": _gaps(final.get("gaps")),
        "turns": turns,
        "tip": _tip(turns),
    }


def with_outcome(run: Data, outcome: Data) -> Data:
    """Return a run with how its test ended, and the moment at which a failure shows."""
    failed = outcome["state"] in ("failed", "changed", "error")
    moment = _moment(run.get("turns") or [], str(outcome.get("pointer", ""))) if failed else None
    return {**run, "outcome": {**{name: outcome[name] for name in _OUTCOME if name in outcome}, "moment": moment}}


_OUTCOME = ("state", "seconds", "message", "file", "line", "pointer", "expected", "found", "excerpt")
_STEP = re.compile(r"/expect/steps/([0-9]{1,6})")


def _moment(turns: list[Data], pointer: str) -> int | None:
    """Return the moment a fault is about: where the step was given that is not the expected one, else the last."""
    if not turns:
        return None
    match = _STEP.fullmatch(pointer)
    if match is None:
        return len(turns) - 1
    tip, path = _tip(turns), []
    at: int | None = tip
    while at is not None:
        turn = turns[at]
        at = turn.get("parent")
        if at is not None and turn["kind"] not in ("error", "blocked") and "answered" in turn:
            path.append(at)
    given = path[::-1]
    return given[int(match[1])] if int(match[1]) < len(given) else tip


def _tip(turns: list[Data]) -> int:
    """Return where the preferred path ends: the last turn that went on from another one."""
    moved = [number for number, turn in enumerate(turns) if "parent" in turn and turn["kind"] != "error"]
    return moved[-1] if moved else 0


def _gaps(listed: Any) -> list[Data]:
    """Return what a run left open, with the reason in one word."""
    left = [gap for gap in objects_of(listed) if not gap.get("resolved")]
    return [{"reason": gap.get("detail"), "step": gap.get("step"), "summary": gap.get("summary")} for gap in left]


class _Story:
    """Follows the tokens of a transcript."""

    def __init__(self, golden: Data) -> None:
        self._prompts: dict[str, list[str]] = {}
        for prompt in golden.get("prompts") or ():
            self._prompts.setdefault(prompt.get("step") or "", []).append(_joined(prompt.get("text") or ""))
        self._made_by: dict[str, int] = {}  # token -> the turn whose answer had it
        self._node: list[int] = []  # by turn: the turn that made the node it shows
        self._advanced: set[int] = set()  # nodes from which the run went on
        self._branch: list[int] = []
        self._count = 1
        self.turns: list[Data] = []
        for number, entry in enumerate(golden["transcript"]):
            if isinstance(entry, dict):
                self._add(number, entry)

    def _add(self, number: int, entry: Data) -> None:
        request, response, error = (members_of(entry.get(name)) for name in ("request", "response", "error"))
        token = request.get("continueToken") or request.get("checkpointToken")
        parent = self._made_by.get(token) if isinstance(token, str) else None
        is_advance = entry.get("tool") == "continue_workflow" and request.get("intent") != "rehydrate"
        branch = self._branch_of(parent, is_advance and not error)
        self._branch.append(branch)
        self._node.append(self._node[parent] if parent is not None and not is_advance else len(self.turns))
        before = self.turns[parent] if parent is not None else None
        pending = response.get("pending") if isinstance(response.get("pending"), dict) else None
        output = members_of(request.get("output"))
        kind = "error" if error else _kind(response)
        turn: Data = {
            "tool": entry.get("tool"),
            "intent": request.get("intent"),
            "answered": before["step"] if before is not None and is_advance else None,
            "notes": output.get("notesMarkdown"),
            "artifacts": output.get("artifacts"),
            "divergences": _divergences(output.get("artifacts")),
            "context": _context(request),
            "step": pending.get("stepId") if pending is not None else None,
            "title": pending.get("title") if pending is not None else None,
            "prompt": self._prompt(pending),
            "kind": kind,
            "blockers": _blockers(response),
            "error": error or None,
            "branch": branch,
            "parent": parent,
            # A blocked attempt and a look at a node stay where they are.
            "round": self._round(pending, parent, is_advance and kind == "step"),
        }
        self.turns.append({name: value for name, value in turn.items() if value is not None or name == "step"})
        self.turns[-1].setdefault("blockers", [])
        # The first answer with a token is the one it belongs to; a look at a node shows the same token again.
        for member in _TOKENS:
            if isinstance(response.get(member), str):
                self._made_by.setdefault(response[member], len(self.turns) - 1)

    def _branch_of(self, parent: int | None, goes_on: bool) -> int:
        if parent is None:
            return 0
        node = self._node[parent]
        if goes_on and node in self._advanced:
            self._count += 1
            return self._count - 1
        if goes_on:
            self._advanced.add(node)
        return self._branch[parent]

    def _round(self, pending: Data | None, parent: int | None, is_new: bool) -> int | None:
        """Return how often the way to here has come to this step, counted from one."""
        if pending is None:
            return None
        at = parent
        while at is not None:
            turn = self.turns[at]
            if turn["step"] == pending.get("stepId"):
                visits: int = turn.get("round", 0)
                return visits + is_new
            at = turn.get("parent")
        return 1

    def _prompt(self, pending: Data | None) -> list[list[str | None]] | None:
        """Return what the agent read: the author's text, and the engine's sections by name."""
        if pending is None or not isinstance(pending.get("prompt"), str | list):
            return None
        if pending["prompt"] and _are_pairs(pending["prompt"]):
            return _attributed(pending["prompt"])
        text, result, at = _joined(pending["prompt"]), [], 0
        texts = self._prompts.get(pending.get("stepId") or "", [])
        for match in _SLOT.finditer(text):
            if text[at : match.start()]:
                result.append([UNKNOWN, None, text[at : match.start()]])
            number = int(match[2] or 1) - 1
            if match[1] == "PROMPT" and number < len(texts):
                result += _golden_text(texts[number])
            else:
                result.append(["engine", match[1], _slot_words(match[1])])
            at = match.end()
        if text[at:]:
            result += _golden_text(text) if not at else [[UNKNOWN, None, text[at:]]]
        return result


def _golden_text(text: str) -> list[list[str | None]]:
    """Return a text of a golden: what the engine wrote out in full below the author's text is not told apart there."""
    cut = text.rfind(_REQUIREMENTS)
    parts = [("authored", text[:cut]), (UNKNOWN, text[cut:])] if cut >= 0 else [("authored", text)]
    return [[kind, None, part] for kind, part in parts if part]


def _divergences(artifacts: Any) -> list[Data] | None:
    """Return where the agent says that it left the path; None where it does not."""
    divergences = [
        {"reason": artifact["reason"], "summary": artifact["summary"]}
        for artifact in objects_of(artifacts)
        if artifact.get("kind") == "wr.workflow_divergence"
        if isinstance(artifact.get("reason"), str) and isinstance(artifact.get("summary"), str)
    ]
    return divergences or None


def _slot_words(slot: str) -> str:
    """Return the name of the engine's text, which stands for the text in a golden."""
    return f"[{slot.replace('_', ' ').lower()}]"


def _context(request: Data) -> Data | None:
    """Return what a call set: the goal of the run, and the variables it names."""
    given = request.get("context") or request.get("initialContext")
    goal = {"goal": request["goal"]} if "goal" in request else {}
    return {**goal, **(given if isinstance(given, dict) else {})} or None


def _kind(response: Data) -> str:
    kind = response.get("kind")
    if response.get("isComplete") is True or kind == "complete":
        return "complete"
    if kind in ("blocked", "gate_checkpoint"):
        return "gate" if kind == "gate_checkpoint" else "blocked"
    return "step" if "pending" in response else "call"


def _blockers(response: Data) -> list[Data]:
    listed = response.get("blockers")
    if isinstance(listed, dict):
        listed = listed.get("blockers")
    return [
        {"code": item.get("code"), "message": item.get("message"), "fix": _own_words(item.get("suggestedFix"))}
        for item in objects_of(listed)
    ]


def _own_words(text: Any) -> Any:
    """Return nothing where a golden has only the name of the engine's words."""
    return None if isinstance(text, str) and _SLOT.fullmatch(text) else text


def _joined(text: Any) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def document_run(picture: Picture, path: str, noun: str) -> Data:
    """Return a document that another system draws, such as the folder of a session, as a run."""
    # What real agents and users wrote may hold what is none of a page's readers' business.
    run = run_data(Redactor().value(picture.record), picture.name, path)
    return {**(run or {}), "document": noun}


def _team_run(golden: Data, name: str, path: str) -> Data:
    """Return a team session: the states it went through, and what happened in each."""
    events = [event for event in golden.get("trace") or () if isinstance(event, dict)]
    return members(
        TeamView(
            name,
            path,
            status=golden.get("finalState"),
            blocked=len(golden.get("blockers") or ()),
            blockers=golden.get("blockers") or [],
            mode=golden.get("mode"),
            states=golden.get("states") or [],
            tasks=golden.get("tasks") or {},
            titles=golden.get("titles"),
            decisions=golden.get("decisions") or [],
            events=[{k: v for k, v in event.items() if k != "n"} for event in events],
        )
    )


def _block_run(golden: Data, name: str, path: str) -> Data:
    """Return a run of blocks: lanes, merges and conflicts."""
    events = objects_of(golden.get("events"))
    nodes = [
        {"node": step.get("node"), "status": step.get("nodeStatus"), "prompt": step.get("prompt")}
        for step in objects_of(golden.get("steps"))
    ]
    plan, nodes = _with_inner(golden.get("plan") or [], nodes, events)
    return members(
        BlocksView(
            name,
            path,
            status=golden.get("executionStatus"),
            blocked=len(golden.get("blockers") or ()),
            blockers=golden.get("blockers") or [],
            plan=plan,
            nodes=nodes,
            labels=golden.get("labels"),
            transitions=golden.get("transitions"),
            merges=[
                {
                    "group": merge.get("group"),
                    "order": merge.get("completionOrder"),
                    "isolation": merge.get("isolation"),
                    "strategy": (merge.get("result") or {}).get("mergeStrategy"),
                    "conflicts": (merge.get("result") or {}).get("conflicts") or [],
                    "applied": merge.get("applied") or {},
                }
                for merge in golden.get("fanIns") or ()
                if isinstance(merge, dict)
            ],
            events=events,
        )
    )


def _with_inner(plan: list[Data], nodes: list[Data], events: list[Data]) -> tuple[list[Data], list[Data]]:
    """Return the stages of a plan with the nodes that ran inside of each, and the nodes with those that have no record.

    A golden names only the outermost nodes. What ran between two of them was inside of the next one, if that has no
    event of its own, as nodes that repeat or decide have none.
    """
    stages = {
        str(node): at
        for at, item in enumerate(plan)
        for node in (item.get("node"), *(item.get("nodeIds") or ()))
        if node is not None
    }
    moves = [(str(event["nodeId"]), event.get("type")) for event in events if event.get("nodeId")]
    seen = {stages[node] for node, _ in moves if node in stages}
    owners: dict[str, int] = {}
    reached = -1
    for node, _ in moves:
        if node in stages:
            reached = stages[node]
        else:
            is_silent = reached + 1 < len(plan) and reached + 1 not in seen
            owners.setdefault(node, reached + 1 if is_silent else max(reached, 0))
    inner: dict[int, list[str]] = {}
    for each in nodes:
        name = str(each["node"])
        owner = owners.get(name.partition("[")[0])
        if owner is not None and name not in stages:
            inner.setdefault(owner, []).append(name)
    last = max([*seen, *inner], default=-1)
    skipped = {node for node, kind in moves if kind == "node_skipped"}
    known = {str(each["node"]) for each in nodes}
    # Of a node that was passed without an event, nothing is said: it is not one that did not run.
    silent = [
        {"node": node, "status": "skipped" if node in skipped else ""}
        for node, at in stages.items()
        if node not in known and (node in skipped or (at <= last and at not in seen))
    ]
    return [{**item, **({"inner": inner[at]} if at in inner else {})} for at, item in enumerate(plan)], nodes + silent


_KINDS = {"blocked_attempt": "blocked", "gate_checkpoint": "gate", "checkpoint": "call"}


def session_runs(report: Data, path: str) -> Iterator[Data]:
    """Yield the runs of a session."""
    for number, story in enumerate(objects_of(report.get("runs"))):
        name = str(story.get("session") or "session")
        # A report may be from before reports were redacted, or made with rules left out.
        redacted = Redactor().for_report(story).report(story)
        yield _session_run(redacted, name if number == 0 else f"{name} {number + 1}", path)


def _session_run(story: Data, name: str, path: str) -> Data:
    nodes = objects_of(story.get("nodes"))
    place = {_number(node.get("node")): at for at, node in enumerate(nodes)}
    answers = {
        _number(beat.get("to")): beat for beat in objects_of(story.get("beats")) if beat.get("kind") == "advance"
    }
    numbers = story.get("preferredPath")
    on_path = map(_number, numbers) if isinstance(numbers, list) else ()
    preferred = [place[number] for number in on_path if number in place]
    turns = [_turn(at, node, answers.get(_number(node.get("node")), {}), place) for at, node in enumerate(nodes)]
    if turns and isinstance(story.get("context"), dict):
        turns[0]["context"] = story["context"]
    _number_branches(turns, set(preferred))
    return {
        "name": name,
        "path": path,
        "kind": "session",
        "workflow": story.get("workflowId"),
        "hash": story.get("workflowHash"),
        "mode": members_of(story.get("preferences")).get("autonomy"),
        "status": story.get("status"),
        "goal": story.get("goal"),
        "blocked": sum(1 for turn in turns if turn["blockers"]),
        "gaps": [{"reason": gap.get("reason"), "summary": gap.get("summary")} for gap in objects_of(story.get("gaps"))],
        "turns": turns,
        "tip": preferred[-1] if preferred else max(len(turns) - 1, 0),
    }


def _turn(at: int, node: Data, answer: Data, place: dict[int | None, int]) -> Data:
    asked = members_of(node.get("asked"))
    before = place.get(_number(node.get("parent")))
    parent = before if before is not None and before < at else None  # a story has no way back
    loops = objects_of(node.get("loops"))
    iteration = _number(loops[-1].get("iteration")) if loops else None
    turn: Data = {
        "tool": "start_workflow" if parent is None else "continue_workflow",
        "answered": answer.get("step"),
        "notes": answer.get("notes"),
        "artifacts": answer.get("artifacts") or None,
        "divergences": _divergences(answer.get("artifacts")),
        "context": members_of(answer.get("context")) or None,
        "step": node.get("step"),
        "title": asked.get("title"),
        "prompt": _asked_prompt(asked, "engine" if str(node.get("step")).startswith(_ENGINES) else "authored"),
        "kind": "complete" if node.get("complete") else _KINDS.get(str(node.get("kind")), "step"),
        "parent": parent,
        "round": None if iteration is None else iteration + 1,
        "gaps": answer.get("gaps") or None,
    }
    kept = {name: value for name, value in turn.items() if value is not None or name == "step"}
    return {**kept, "blockers": objects_of(node.get("blockers"))}


def _asked_prompt(asked: Data, writer: str) -> list[list[str | None]] | None:
    """Return what the agent read, by who wrote it."""
    parts = asked.get("parts")
    if isinstance(parts, list) and parts and _are_pairs(parts):
        return _attributed(parts, writer)
    return [[UNKNOWN, None, asked["prompt"]]] if isinstance(asked.get("prompt"), str) else None


def _are_pairs(parts: list[Any]) -> bool:
    return all(isinstance(part, list) and len(part) == 2 for part in parts)


def _attributed(parts: list[Any], writer: str = "authored") -> list[list[str | None]]:
    return [["engine" if slot else writer, slot and str(slot), str(text)] for slot, text in parts]


def _number_branches(turns: list[Data], preferred: set[int]) -> None:
    """Number the branches: 0 is the preferred path; what leaves a branch is numbered in the order of the log."""
    count = 0
    continued: set[int] = set()
    for number, turn in enumerate(turns):
        parent = turn.get("parent")
        if number in preferred or parent is None:
            turn["branch"] = 0
        elif turns[parent]["branch"] and parent not in continued:
            turn["branch"] = turns[parent]["branch"]
            continued.add(parent)
        else:
            count += 1
            turn["branch"] = count


def _number(value: Any) -> int | None:
    return value if type(value) is int else None
