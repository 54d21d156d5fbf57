"""Input that is made to hurt: clear findings, no hang, nothing read or written outside."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from effort import patience, times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from team_probe import fix, lint_paths, lint_text, write_files

from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.options import TeamOptions
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import Backlog
from workrail_lint.systems.team.rules.tasks import DependencyCycle
from workrail_lint.systems.team.system import TeamSystem

PATHS = {
    "team-status": samples.STATUS,
    "team-tasks": samples.TASKS,
    "team-acceptance": samples.ACCEPTANCE,
    "team-spec": samples.SPEC,
    "team-history": samples.HISTORY,
    "team-input": samples.exchange("Reviewer"),
    "team-output": samples.exchange("Security", side="output"),
    "team-plan": samples.PLAN,
    "team-trace": "x.trace.json",
}


def test_billion_laughs() -> None:
    levels = ["a: &a [lol, lol, lol]"]
    levels += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    with patience():
        found = lint_text("\n".join(levels) + "\n", samples.TASKS)
    features = [f for f in found if f.code == "TC005"]
    assert 0 < len(features) <= 20
    assert "more problems" in features[-1].message
    assert "TC303" in [f.code for f in found]


def test_places_in_the_history_are_those_of_the_file() -> None:
    good = samples.history()
    twice = good.replace('{"at"', '{"at": "", "at"')
    (found,) = lint_text(good + good.replace("10:05", "10:06") + twice.replace("10:05", "10:07"), samples.HISTORY)
    assert (found.code, found.pointer) == ("TC002", "/2/at")
    assert "at line 3, column 2" in found.message
    assert "at line 3, column 12" in found.message
    assert found.span is not None
    assert found.span.start.line == 3
    (found,) = (f for f in lint_text(good + '{"at": x}\n', samples.HISTORY) if f.code == "TC602")
    assert "line 2, column 8" in found.message


def test_an_alias_is_a_warning_and_no_more() -> None:
    first, second = samples.task(goal="GOAL"), samples.task("T-002", goal="REPEATED")
    plan = samples.tasks(first, second).replace("GOAL", "&g Build it").replace("REPEATED", "*g")
    assert [f.code for f in lint_text(plan, samples.TASKS)] == ["TC005", "TC005"]
    lost = plan.replace("&g ", "")
    assert "TC001" in [f.code for f in lint_text(lost, samples.TASKS)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("tasks: !!python/object/apply:os.system [echo]\n", "TC005"),
        ("tasks: []\n---\ntasks: []\n", "TC005"),
        ("a: 1\na: 2\n", "TC002"),
        ("tasks: [\n", "TC001"),
        ("tasks:\n\t- x\n", "TC001"),
        ("project: yes\ntasks: []\n", "TC005"),
        ("project: 010\ntasks: []\n", "TC005"),
        ("project: .inf\ntasks: []\n", "TC005"),
        ("<<: {a: 1}\ntasks: []\n", "TC005"),
        ("tasks: " + "[" * 300 + "]" * 300 + "\n", "TC001"),
        ("", "TC001"),
        ("\x00", "TC001"),
    ],
)
def test_yaml_riddles(text: str, code: str) -> None:
    assert code in [finding.code for finding in lint_text(text, samples.TASKS)]


def test_dates_and_quoted_words_are_texts() -> None:
    plan = samples.tasks(samples.task(title="x")).replace("title: x", "title: 2026-03-01")
    assert lint_text(plan, samples.TASKS) == []
    assert lint_text(plan.replace("2026-03-01", '"yes"', 1), samples.TASKS) == []


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize(
    "data", [b"\xff\xfe{\x00}\x00", b'{"a": "\xe9"}', b"\x80" * 100], ids=["utf16", "latin1", "bytes"]
)
def test_wrong_encodings(path: str, data: bytes) -> None:
    found = lint_text(data, path)
    assert [finding.code for finding in found] == ["TC001"]
    assert "UTF-8" in found[0].message


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_huge_files(path: str) -> None:
    data = b'{"a": "' + b"x" * 50_000_000 + b'"}'
    with patience():
        found = lint_text(data, path)
    assert [finding.code for finding in found] == ["TC001"]
    assert "bytes" in found[0].message


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (
            samples.exchange("Coder", side="output"),
            samples.agent_output(artifacts=samples.coded(), summary="." * 900_000),
        ),
        (
            samples.exchange("Coder", side="output"),
            samples.agent_output(artifacts=samples.coded(), summary="a. " * 300_000),
        ),
        (
            samples.exchange("QA", side="output"),
            samples.agent_output(
                artifacts={"tests_added_or_updated": [".test" * 180_000], "commands_to_run": [], "notes": []}
            ),
        ),
        (samples.exchange("Coder", side="output"), "{" * 500_000),
        (samples.exchange("Coder", side="output"), '{"a":' * 100_000),
        (samples.exchange("Coder", side="output"), '{"status": 1, "next": 2} ' * 30_000),
        (samples.STATUS, samples.status("DESIGN", *[samples.decision(f"UD-{n}") for n in range(1, 3000)])),
        (samples.STATUS, samples.status("DESIGN", samples.decision("UD-" + "9" * 100_000))),
        (samples.ACCEPTANCE, samples.acceptance(*[samples.criterion("AC" + "-A" * 50) for _ in range(3000)])),
        (samples.SPEC, samples.spec(acceptance="AC-" * 300_000)),
        (samples.SPEC, "# Goals\n" * 50_000),
        (samples.HISTORY, '{"at": 1}\n' * 19_000),
        (samples.TASKS, "tasks: [" + "{id: T-001}," * 5_000 + "]"),
    ],
)
def test_no_document_takes_long(path: str, content: Any) -> None:
    with patience():
        found = lint_text(content, path)
    assert len(found) < 1000


def test_a_plan_where_everything_waits_for_everything() -> None:
    ids = [f"T-{number:03d}" for number in range(60)]
    plan = samples.tasks(*[samples.task(ident, depends_on=ids) for ident in ids])
    with patience():
        found = lint_text(plan, samples.TASKS)
    assert "TC313" in [finding.code for finding in found]


def test_a_long_chain_of_tasks_is_no_recursion() -> None:
    items = [samples.task(f"T-{n:04d}", depends_on=[f"T-{n + 1:04d}"]) for n in range(600)]

    class Reader:
        def __init__(self) -> None:
            self.value: Any = {"tasks": items}

    def cycles() -> list[str]:
        seen: list[str] = []

        def report(pointer: str, message: str, **_: object) -> None:
            seen.append(message)

        backlog = Backlog(TeamKind.TASKS, samples.TASKS, Reader(), TeamOptions())  # type: ignore[arg-type]
        DependencyCycle().check_backlog(backlog, report)
        return seen

    assert cycles() == []
    items[-1]["depends_on"] = ["T-0000"]
    assert len(cycles()) == 1


def test_links_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    write_files(tmp_path, samples.session())
    secret = tmp_path / "secret.json"
    secret.write_text('{"status": "hunter2"}', encoding="utf-8")
    name = samples.exchange("Coder", side="output")
    os.symlink(secret, tmp_path / name)
    (found,) = lint_paths(tmp_path)
    assert (found.code, found.path) == ("TC001", name)
    assert "hunter2" not in found.message
    (tmp_path / name).unlink()
    (tmp_path / samples.FOLDER / "kept.json").write_text(
        json.dumps(samples.agent_output(artifacts=samples.coded())), encoding="utf-8"
    )
    os.symlink("kept.json", tmp_path / name)
    assert [f.code for f in lint_paths(tmp_path)] == ["TC416"], "a link within the session is a file like others"


def test_links_to_folders_and_loops_do_no_harm(tmp_path: Path) -> None:
    write_files(tmp_path, samples.session())
    os.symlink("..", tmp_path / samples.FOLDER / "adr")
    os.symlink("loop.json", tmp_path / samples.FOLDER / "loop.json")
    os.symlink("/", tmp_path / samples.FOLDER / "research")
    codes = {finding.code for finding in lint_paths(tmp_path)}
    assert codes <= {"file-not-readable", "TC416"}  # by its name, where no system of the run has the rule


ESCAPES = [
    "../../etc/passwd",
    "/etc/passwd",
    "C:\\secret",
    "~/x",
    "a/../../b",
    ".agents-work/../../x",
    "..",
    "\\\\host\\x",
]


@pytest.mark.parametrize("escape", ESCAPES)
def test_paths_that_escape(escape: str, tmp_path: Path) -> None:
    for agent, key in (("Coder", "files_changed"), ("Integrator", "files_changed"), ("Docs", "files_changed")):
        output = samples.agent_output(artifacts=samples.coded(**{key: [escape]}))
        found = [f.code for f in lint_text(output, samples.exchange(agent, side="output"))]
        assert "TC549" in found
        assert "TC007" in found
    files = [*samples.context("spec.md", "tasks.yaml", "architecture.md"), escape]
    write_files(
        tmp_path, {**samples.session(), samples.exchange("Coder"): samples.agent_input(samples.given(files=files))}
    )
    assert [f.code for f in lint_paths(tmp_path)] == ["TC007"]


def test_fixing_never_follows_a_path(tmp_path: Path) -> None:
    given = samples.agent_input(samples.given(files=[".agents-work/<session>/../../../x", "../spec.md"]))
    fixed = json.loads(fix(given, samples.exchange("Coder")).text)
    assert fixed["task"]["context_files"][1] == "../spec.md"
    assert list(tmp_path.iterdir()) == []


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(["UD-1", "UD-APPROVE-DESIGN", "T-001", "PLAN", "OK", "meta", "approved", "2026-03-01T10:00:00Z"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_DOCUMENTS: dict[str, Any] = {
    samples.STATUS: samples.status(
        "APPROVE_DESIGN",
        samples.decision(),
        samples.approved(),
        gate_tracking=samples.correction("dispatched"),
        retry_counts={"T-001": {"FIX_TESTS": 1}},
        runtime_flags={"copilot_instructions_exists": True, "copilot_checked_at": "2026-03-01T10:00:00Z"},
    ),
    samples.ACCEPTANCE: samples.acceptance(),
    samples.exchange("Reviewer"): samples.agent_input(
        samples.given(session_changed_files=[{"path": "a", "old_path": "b", "change_type": "renamed"}])
    ),
    samples.exchange("Researcher", side="output"): samples.agent_output(
        artifacts={"options": [{"id": "OPT-1"}], "notes": [], "findings": [{"severity": "low"}], "test_results": {}}
    ),
    samples.PLAN: samples.dispatch_plan("IMPLEMENT_LOOP", "Coder", blockers=["x"]),
    "x.trace.json": {
        "mode": "full",
        "trace": [{"event": "write", "state": "PLAN", "set": ["UD-1=pending"], "file": "x"}],
    },
}


def replaced(value: Any, path: list[int], new: Any) -> Any:
    """The value with something in it replaced: each number picks a child, the last one is where `new` goes."""
    if not path or not isinstance(value, dict | list) or not value:
        return new
    if isinstance(value, dict):
        name = sorted(value)[path[0] % len(value)]
        return {**value, name: replaced(value[name], path[1:], new)}
    index = path[0] % len(value)
    return [*value[:index], replaced(value[index], path[1:], new), *value[index + 1 :]]


@settings(max_examples=times(25, deep=1_000), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(sorted(_DOCUMENTS)), st.lists(st.integers(0, 30), min_size=1, max_size=5), _JSON)
def test_nothing_in_json_is_too_odd(path: str, steps: list[int], new: Any) -> None:
    content = replaced(_DOCUMENTS[path], steps, new)
    for finding in lint_text(content, path):
        assert finding.message.isprintable()
        assert finding.span is not None


@settings(max_examples=times(25, deep=1_000), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=5), _JSON)
def test_nothing_in_yaml_is_too_odd(steps: list[int], new: Any) -> None:
    plan = {"project": {"name": "x", "definition_of_done": []}, "tasks": [samples.task(), samples.task("T-002")]}
    text = json.dumps(replaced(plan, steps, new))  # JSON is YAML
    for finding in lint_text(text, samples.TASKS):
        assert finding.message.isprintable()
        assert finding.span is not None


@settings(max_examples=times(25, deep=1_000), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(sorted(PATHS)), st.text(max_size=60))
def test_no_text_is_too_odd(kind: str, text: str) -> None:
    system = TeamSystem()
    data = text.encode("utf-8", "surrogatepass")
    assert system.claims(PATHS[kind], data, True) == kind
    lint_text(data, PATHS[kind])
