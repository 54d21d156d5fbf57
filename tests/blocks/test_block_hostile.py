"""Input that is out to hurt: clear findings, no hang, nothing written."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from block_checks import check_files, check_folder, check_text, told, write
from effort import patience

from workrail_lint.findings import Finding
from workrail_lint.systems.blocks.rules.folder import CHAIN, without
from workrail_lint.systems.blocks.rules.samples import (
    WORKFLOW_PATH,
    edge,
    environment,
    fan_in,
    mount,
    node,
    output,
    output_path,
    workflow,
)


def quickly(function: Any, *arguments: Any) -> list[Finding]:
    with patience():
        found: list[Finding] = function(*arguments)
    return found


def state(folder: Path) -> dict[str, str]:
    """Everything below a folder, by path and content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def test_an_enormous_output(tmp_path: Path) -> None:
    write(tmp_path, without(output_path("b")))
    huge = tmp_path / output_path("b")
    with huge.open("wb") as file:
        file.write(b'{"blockId": "b", "summary": "')
        file.truncate(50_000_000)
    found = [finding for finding in quickly(check_folder, tmp_path) if finding.path == output_path("b")]
    assert [finding.code for finding in found] == ["BC001"]
    assert "50,000,000 bytes" in found[0].message


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(output("b")).encode("utf-16"),
        json.dumps(output("b")).encode("utf-32"),
        json.dumps(output("b", summary="ä")).encode().replace(b"\\u00e4", b"\xe4"),
        b"\x00" * 1000,
        b"",
        b"[" * 900_000,
        b'{"a":' * 100_000,
    ],
)
def test_texts_that_are_no_json(data: bytes, tmp_path: Path) -> None:
    found = quickly(check_files, tmp_path, {**CHAIN, output_path("b"): data})
    mine = [finding for finding in found if finding.path == output_path("b")]
    assert {finding.code for finding in mine} == {"BC001"}


def test_an_output_that_is_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "secret.json"
    write(tmp_path, {"secret.json": output("b")})
    project = tmp_path / "project"
    write(project, without(output_path("b")))
    (project / output_path("b")).symlink_to(outside)
    before = state(tmp_path)
    found = [finding for finding in check_folder(project) if finding.path == output_path("b")]
    assert any("symbolic link that leads out" in finding.message for finding in found)
    assert state(tmp_path) == before
    # Asked for by name it is still no output.
    named = check_folder(project, paths=[output_path("b")])
    assert any("not a symlink" in finding.message for finding in named)


def test_an_output_folder_that_is_a_link(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", {path.removeprefix(".output/"): value for path, value in CHAIN.items()})
    project = tmp_path / "project"
    write(project, {WORKFLOW_PATH: CHAIN[WORKFLOW_PATH], ".run/repo-mount.json": mount()})
    (project / ".output").symlink_to(tmp_path / "elsewhere")
    assert [finding.code for finding in check_folder(project)] == []


def test_companions_that_are_no_files(tmp_path: Path) -> None:
    write(tmp_path, CHAIN)
    (tmp_path / ".run").mkdir()
    os.mkfifo(tmp_path / ".run" / "prompt-b.txt")
    (tmp_path / ".run" / "env-b.json").mkdir()
    (tmp_path / ".output" / "folder").mkdir()
    (tmp_path / ".output" / "gone").symlink_to("nowhere")
    found = quickly(check_folder, tmp_path)
    assert [(f.path, f.code) for f in found] == [
        (".output/folder", "BC601"),
        (".output/gone", "BC601"),
    ]


ESCAPES = [
    "/etc/passwd",
    "../x",
    "a/../../x",
    "C:\\x",
    "a\\b",
    "",
    ".",
    "a//b",
    "/workspace/../x",
    "~/x\0",
    "\\\\host\\x",
]


@pytest.mark.parametrize("path", ESCAPES[:-2] + ESCAPES[-1:])
@pytest.mark.parametrize("member", ["filesModified", "filesCreated"])
def test_paths_that_lead_elsewhere(path: str, member: str) -> None:
    found = check_text(output(**{member: [path]}), "block-dev.json")
    (mine,) = [finding for finding in found if finding.code == "BC109"]
    assert mine.pointer == f"/{member}/0"
    assert mine.fix is None


def test_paths_that_lead_elsewhere_on_a_disk(tmp_path: Path) -> None:
    files: dict[str, Any] = {
        **CHAIN,
        output_path("b"): {**CHAIN[output_path("b")], "filesModified": ESCAPES},
        ".run/repo-mount.json": mount(fileRestrictions=["../**", "src/**", "/etc/**"]),
    }
    write(tmp_path, files)
    before = state(tmp_path)
    quickly(check_folder, tmp_path, {"block-tree": "."})
    assert state(tmp_path) == before


def test_a_conflict_about_a_file_elsewhere() -> None:
    entry = {
        "conflictingFile": "../../x",
        "lanes": ["a", "b"],
        "resolution": "first-complete-wins",
        "appliedFrom": "a",
    }
    found = check_text(fan_in(conflicts=[entry]), ".run/fan-in-g.json")
    assert ("BC501", "/conflicts/0/conflictingFile") in told(found)


def test_very_many_faults_are_summed_up(tmp_path: Path) -> None:
    value = output("b", filesModified=["/x"] * 20_000, filesCreated=[7] * 10_000)
    found = quickly(check_files, tmp_path, {**CHAIN, output_path("b"): json.dumps(value)})
    mine = [finding for finding in found if finding.path == output_path("b")]
    assert 100 <= len(mine) < 1000
    assert any("more like this)" in finding.message for finding in mine)


def test_very_many_paths_and_patterns(tmp_path: Path) -> None:
    value = output("b", filesModified=[f"d/{at}" for at in range(10_000)])
    patterns = [f"**/{at}/**" for at in range(10_000)]
    files = {
        **CHAIN,
        output_path("b"): json.dumps(value),
        ".run/repo-mount.json": json.dumps(mount(fileRestrictions=patterns)),
    }
    write(tmp_path, files)
    with patience():
        check_folder(tmp_path, {"block-tree": "."})


def test_a_definition_of_many_nodes_in_circles(tmp_path: Path) -> None:
    names = [f"n{at}" for at in range(1500)]
    nodes = [{"id": name, "type": "coding", "config": {}} for name in names]
    circles = [edge(name, name) for name in names] + [edge(a, b) for a, b in pairwise(names)]
    value = {**workflow(), "nodes": nodes, "transitions": circles}
    found = quickly(check_files, tmp_path, {WORKFLOW_PATH: json.dumps(value, separators=(",", ":"))})
    assert {"BC312", "BC343", "BC301"} <= {finding.code for finding in found}


def test_messages_hold_no_control_characters() -> None:
    odd = "x\n\x1b[31m\u202e" + "y" * 10_000
    documents: dict[str, Any] = {
        "block-dev.json": output(
            odd, status=odd, filesModified=[odd, odd], deliverables={"blockType": odd}, **{odd: 1}
        ),
        "x.workflow.json": workflow(node(odd, odd, None, label=""), edges=[edge(odd, odd, odd)], rules=[odd]),
        ".run/env-a.json": environment(odd, odd, odd, **{odd: 1}),
        ".run/repo-mount.json": mount(source=odd, fileRestrictions=[odd]),
        ".run/fan-in-g.json": fan_in(output(odd), strategy=odd),
        ".run/trace.json": {"events": [{"type": "node_started", "nodeId": odd}]},
    }
    for path, value in documents.items():
        found = check_text(value, path)
        assert found, path
        for finding in found:
            assert finding.message.isprintable(), finding
            assert len(finding.message) < 1000


def test_five_hundred_outputs(tmp_path: Path) -> None:
    names = [f"n{at}" for at in range(500)]
    nodes = [node(name, "coding", "Do it.") for name in names]
    links = [edge(a, b) for a, b in pairwise(names)]
    files: dict[str, Any] = {WORKFLOW_PATH: workflow(*nodes, edges=links)}
    files |= {output_path(name): output(name) for name in names}
    files |= {
        f".run/env-{name}.json": environment(name, str(at), names[at - 1] if at else "")
        for at, name in enumerate(names)
    }
    write(tmp_path, files)
    found = quickly(check_folder, tmp_path)
    assert found == []


HEAVY = ("pydantic", "jsonschema", "pluggy", "dataclasses", "inspect", "pathlib", "yaml")
SCRIPT = """
import sys
from workrail_lint.systems.base import RunSettings
from workrail_lint.systems.builtin import builtin_systems
system = next(each for each in builtin_systems() if each.name == "blocks")
data = open(sys.argv[1], "rb").read()
assert system.claims("workflows/a.json", b'{"id": "a", "steps": []}', False) is None
assert system.claims("package.json", b'{"name": "a"}', False) is None
assert "workrail_lint.systems.blocks.system" not in sys.modules, "loaded for a file of others"
kind = system.claims(sys.argv[1], data, True)
result = system.check(sys.argv[1], data, kind, RunSettings())
system.cross_check({sys.argv[1]: result.record}, RunSettings(), False)
assert result.findings == [], result.findings
print(" ".join(name for name in sys.argv[2:] if name in sys.modules))
"""


def test_a_clean_file_loads_nothing_heavy(tmp_path: Path) -> None:
    write(tmp_path, {"block-dev.json": output()})
    command = [sys.executable, "-S", "-c", SCRIPT, str(tmp_path / "block-dev.json"), *HEAVY]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
