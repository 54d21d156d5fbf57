"""Instruction files of agents: which are ours, and what they may say by the roles of the contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from team_probe import lint_paths, lint_text, write_files

from workrail_lint.findings import Finding, Severity
from workrail_lint.systems.team.documents import TeamKind, claims
from workrail_lint.systems.team.roles import ROLES
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.vocabulary import AgentName

PATH = samples.agent_path("coder")


def output(agent: str = "Reviewer", status: str = "OK|BLOCKED|FAIL", **artifacts: Any) -> dict[str, Any]:
    following = {"recommended_agent": agent, "recommended_task_id": "T-XXX or meta", "reason": "..."}
    return samples.agent_output(status, samples.coded(**artifacts), next=following)


def found(text: str, path: str = PATH) -> list[Finding]:
    return lint_text(text, path)


def told(text: str, path: str = PATH) -> list[tuple[str, str, str]]:
    """Code, severity and the text that each finding underlines."""
    return [(each.code, each.severity.value, underlined(text, each)) for each in found(text, path)]


def underlined(text: str, finding: Finding) -> str:
    assert finding.span is not None
    line = text.splitlines()[finding.span.start.line - 1]
    last = finding.span.end.column - 1 if finding.span.end.line == finding.span.start.line else None
    return line[finding.span.start.column - 1 : last]


def test_instructions_that_keep_to_the_roles_are_fine() -> None:
    assert found(samples.agent_file("coder", output())) == []
    for agent in AgentName:
        following = ROLES[agent].usual_next
        status = f"OK|BLOCKED|FAIL|{ROLES[agent].status.value}" if ROLES[agent].status else "OK|BLOCKED|FAIL"
        shown = samples.agent_output(status, {key: [] for key in ROLES[agent].required})
        shown["artifacts"] |= {"design_spec_inline": "One column."} if agent is AgentName.DESIGNER else {}
        shown["next"]["recommended_agent"] = "|".join(each.value for each in following) or "Coder"
        text = samples.agent_file(agent.file_name, shown)
        assert found(text, samples.agent_path(agent.file_name)) == [], agent


# ------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("matter", "message"),
    [
        ("name: Coder", "unknown agent 'Coder'; did you mean 'coder'?"),
        ("name: coderr", "unknown agent 'coderr'; did you mean 'coder'?"),
        ("name: poet", "unknown agent 'poet'; expected one of spec-agent, "),
        ("name: reviewer", "the file is named after Coder, but its name is 'reviewer'"),
        ("title: Coder", "the file has no front matter with a 'name'; add one such as 'name: coder'"),
        ("name: coder\ntitle: You code: well", "the front matter can't be read: "),
        ("name: [a]", "the file has no front matter with a 'name'"),
        ("name: coder\nagents: [coder, SpecAgent]", "unknown agent 'SpecAgent'; did you mean 'spec-agent'?"),
    ],
)
def test_names(matter: str, message: str) -> None:
    text = samples.agent_file("coder", output()).replace("name: coder", matter, 1)
    first = [each for each in found(text) if each.code == "TC901" and "recommend" not in each.message]
    assert first
    assert first[0].message.startswith(message)
    assert first[0].severity is Severity.ERROR


def test_a_named_file_without_front_matter_is_told_so() -> None:
    assert [each.code for each in found("# Coder\n")] == ["TC901"]


def test_the_place_of_a_name_is_in_the_front_matter() -> None:
    assert told(samples.agent_file("Coder", output())) == [("TC901", "error", "Coder")]
    crlf = samples.agent_file("Coder", output()).replace("\n", "\r\n")
    assert told(crlf) == [("TC901", "error", "Coder")]


# -------------------------------------------------------------------------------------------------- what they promise


def test_next_agents() -> None:
    assert told(samples.agent_file("coder", output("Reviewer|reviewer|QA"))) == [
        ("TC901", "warning", '"Reviewer|reviewer|QA"'),
        ("TC901", "error", '"Reviewer|reviewer|QA"'),
    ]
    plan = samples.dispatch_plan("PLAN", "SpecAgent|spec-agent")
    text = samples.agent_file("orchestrator", plan)
    assert told(text, samples.agent_path("orchestrator")) == [("TC901", "error", '"SpecAgent|spec-agent"')]


def test_statuses() -> None:
    text = samples.agent_file(
        "coder", output(status="OK|NEEDS_INFO|DONE"), "If in doubt, return `status: NEEDS_DECISION`."
    )
    assert told(text) == [
        ("TC901", "error", "NEEDS_DECISION"),
        ("TC901", "error", '"OK|NEEDS_INFO|DONE"'),
        ("TC901", "error", '"OK|NEEDS_INFO|DONE"'),
    ]
    messages = {each.message for each in found(text)}
    assert "Coder can't report NEEDS_DECISION; only Security can" in messages
    assert "Coder can't report NEEDS_INFO; only Researcher can" in messages


def test_the_orchestrator_may_speak_of_what_others_return() -> None:
    lines = ("When Security returns `status: NEEDS_DECISION`, ask the user.", "", "See `.agents-work/<session>/`.")
    text = samples.agent_file("orchestrator", samples.dispatch_plan("PLAN", "Planner"), *lines)
    assert found(text, samples.agent_path("orchestrator")) == []


@pytest.mark.parametrize(
    ("agent", "path", "severity"),
    [
        ("designer", "src/ui.css", "error"),
        ("designer", ".agents-work/<session>/design-specs/design-spec-<slug>.md", None),
        ("designer", ".agents-work/<session>/design-specs/", None),
        ("designer", ".agents-work/<session>/layout.md", "warning"),
        ("reviewer", ".agents-work/<session>/review.md", "error"),
        ("reviewer", ".agents-work/<session>/status.json", None),
        ("coder", "src/app.js", None),
        ("coder", "../elsewhere.js", "error"),
    ],
)
def test_artifacts_by_the_list_and_by_the_sample(agent: str, path: str, severity: str | None) -> None:
    role = AgentName(next(each for each in AgentName if each.file_name == agent))
    shown = samples.agent_output("OK", {key: [] for key in ROLES[role].required})
    shown["artifacts"] |= {"design_spec_inline": "One column."} if agent == "designer" else {}
    shown["next"]["recommended_agent"] = ROLES[role].usual_next[0].value
    expected = [] if severity is None else [("TC901", severity)]
    promised = samples.agent_file(agent, shown, "## Required outputs (repo artifacts)", "", f"1) `{path}` (always)", "")
    shown["artifacts"]["files_to_create_or_update"] = [path]
    sampled = samples.agent_file(agent, shown)
    for text in (promised, sampled):
        assert [(code, level) for code, level, _ in told(text, samples.agent_path(agent))] == expected


# ------------------------------------------------------------------------------------------------------------ samples


def test_a_sample_is_validated_as_an_output() -> None:
    broken = output()
    del broken["gates"]["needs_tests"]
    broken["artifacts"]["notes"] = "none"
    text = samples.agent_file("coder", broken)
    wrong, missing = found(text)
    assert (wrong.code, missing.code) == ("TC531", "TC531")
    assert missing.message == "in this sample output, 'needs_tests' is missing from gates"
    assert underlined(text, wrong) == '"none"'
    assert (wrong.pointer, wrong.fix) == ("#Output (JSON)", None)


def test_a_blank_line_does_not_end_a_sample() -> None:
    text = samples.agent_file("coder", output("Reviewer", "OK|DONE")).replace('  "summary"', '\n  "summary"')
    assert told(text) == [("TC901", "error", '"OK|DONE"')]


def test_a_sample_without_a_fence_counts_too() -> None:
    text = samples.agent_file("coder", output("Reviewer", "OK|DONE"))
    assert told(text.replace("```json\n", "").replace("```\n", "")) == [("TC901", "error", '"OK|DONE"')]


def test_a_sample_that_is_no_json() -> None:
    text = samples.agent_file("coder", output()).replace('"summary"', "summary")
    assert [(each.code, each.severity) for each in found(text)] == [("TC901", Severity.ERROR)]
    assert "this sample output is not valid JSON" in found(text)[0].message


def test_other_objects_are_nobodys_business() -> None:
    other = [
        "```json",
        '{"task": {...}}',
        "```",
        "",
        "```",
        "a = {",
        "```",
        "",
        "{",
        "  not json",
        "}",
        "",
        "{",
        "## End",
        "{",
    ]
    assert found(samples.agent_file("coder", output(), *other)) == []


def test_many_and_odd_samples_take_no_time() -> None:
    many = ["```json", json.dumps(output()), "```", ""] * 2000
    assert found(samples.agent_file("coder", output(), *many)) == []
    assert found(samples.agent_file("coder", output(), *(["{"] * 20_000))) == []
    deep = json.dumps({**output(), "notes": "|" * 100_000 + " " * 100_000}).replace("[]", "[" * 90 + "]" * 90)
    assert {each.code for each in found(samples.agent_file("coder", output(), "```json", deep, "```"))} <= {"TC531"}


# ---------------------------------------------------------------------------------------------------- which are ours


TEAM = samples.agent_file("coder", output()).encode()
OTHER = b"---\nname: Poet\n---\n\nWrite a poem.\n"


@pytest.mark.parametrize(
    ("path", "data", "named", "claimed"),
    [
        (".github/agents/04-coder.md", TEAM, False, True),
        ("agents/coder.md", TEAM, False, True),
        ("prompts/coder.md", TEAM, False, False),
        ("agents/CONTRACT.md", TEAM, False, False),
        ("agents/README.md", TEAM, True, False),
        (".github/agents/poet.md", OTHER, False, False),
        (".github/agents/poet.md", OTHER, True, True),
        (".github/agents/coder.md", TEAM.replace(b"---", b"", 1), False, False),
    ],
)
def test_which_files_are_ours(path: str, data: bytes, named: bool, claimed: bool) -> None:
    assert (claims(path, data, named) == TeamKind.AGENT_FILE.value) is claimed


def test_whatever_is_beside_a_contract_is_ours(tmp_path: Path) -> None:
    write_files(tmp_path, {".github/agents/poet.md": OTHER, "agents/poet.md": OTHER, "other/agents/poet.md": OTHER})
    assert lint_paths(tmp_path) == []
    write_files(tmp_path, {"agents/CONTRACT.md": "# Contract\n"})
    assert sorted(each.path for each in lint_paths(tmp_path)) == [".github/agents/poet.md", "agents/poet.md"]
