"""lock and diff."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_types import Run
from effort import peak_memory

from workrail_lint import compile_workflow
from workrail_lint.cli import main
from workrail_lint.systems.workrail.lockfile import VERSION, Lockfile
from workrail_lint.systems.workrail.rules.samples import controlled_loop, step, workflow

LOCK = "workrail.lock.json"


@pytest.fixture
def two(write: Any) -> dict[str, dict[str, Any]]:
    documents = {
        "workflows/a.json": workflow(step("one"), step("two"), id="demo.aa"),
        "workflows/b.json": workflow(controlled_loop(), step("last"), id="demo.bb"),
    }
    for path, document in documents.items():
        write(path, document)
    return documents


def test_update_pins_both_hashes_in_a_stable_order(run: Run, two: Any, tmp_path: Any) -> None:
    ran = run("lock", "--update")
    assert ran.code == 0
    assert "2 pinned (2 new, 0 changed, 0 removed)" in ran.out
    first = (tmp_path / LOCK).read_bytes()
    lock = json.loads(first)
    assert lock["lockfileVersion"] == 1
    assert lock["catalog"]["id"] == "core"
    assert lock["catalog"]["digest"].startswith("sha256:")
    assert list(lock["workflows"]) == ["workflows/a.json", "workflows/b.json"]
    for path, document in two.items():
        compiled = compile_workflow(document).value
        entry = lock["workflows"][path]
        assert (entry["hash"], entry["engineHash"], entry["engineMode"]) == (
            compiled.hash,
            compiled.engine_hash,
            "pinned",
        )
    run("lock", "--update")
    assert (tmp_path / LOCK).read_bytes() == first
    assert run("lock", "--check").code == 0


def test_check_says_what_changed_in_behaviour(run: Run, write: Any, two: Any) -> None:
    run("lock", "--update")
    changed = json.loads(json.dumps(two["workflows/b.json"]))
    changed["steps"][0]["loop"]["maxIterations"] = 9
    changed["steps"][0]["body"][0]["prompt"] = "Something else."
    changed["steps"].append(step("added"))
    write("workflows/b.json", changed)
    write("workflows/c.json", workflow(id="demo.cc"))
    (write("workflows/a.json", two["workflows/a.json"])).unlink()
    ran = run("lock", "--check")
    assert ran.code == 1
    assert "workflows/a.json: in the lockfile, but the file is gone" in ran.out
    assert "workflows/b.json: changed" in ran.out
    assert "step 'again': loop.maxIterations changed: 3 -> 9" in ran.out
    assert "step 'again/inner-step': prompt changed" in ran.out
    assert "step 'added': added" in ran.out
    assert "workflows/c.json: not in the lockfile" in ran.out
    assert "lock --update" in ran.err


def test_check_names_a_changed_id(run: Run, write: Any, two: Any) -> None:
    run("lock", "--update")
    write("workflows/a.json", {**two["workflows/a.json"], "id": "demo.zz"})
    ran = run("lock", "--check")
    assert ran.code == 1
    assert ran.out == 'workflows/a.json: changed\n  workflow: workflowId changed: "demo.aa" -> "demo.zz"\n'


def test_check_tells_a_changed_engine_hash_from_changed_metadata(run: Run, two: Any, tmp_path: Any) -> None:
    run("lock", "--update")
    pinned = json.loads((tmp_path / LOCK).read_text())
    for member, told in (("engineHash", "only the engine hash"), ("hash", "provenance or warnings")):
        changed = json.loads(json.dumps(pinned))
        changed["workflows"]["workflows/a.json"][member] = f"sha256:{0:064}"
        (tmp_path / LOCK).write_text(json.dumps(changed))
        ran = run("lock", "--check")
        assert ran.code == 1
        (line,) = ran.out.splitlines()
        assert line.startswith("workflows/a.json: ")
        assert told in line


def test_formatting_is_no_change(run: Run, write: Any, two: Any) -> None:
    run("lock", "--update")
    write("workflows/a.json", json.dumps(dict(reversed(two["workflows/a.json"].items()))))
    assert run("lock", "--check").code == 0


def test_paths_limit_what_is_looked_at(run: Run, write: Any, two: Any) -> None:
    run("lock", "--update")
    write("workflows/b.json", workflow(step("new"), id="demo.bb"))
    assert run("lock", "--check", "workflows/a.json").code == 0
    assert run("lock", "--check", "workflows/b.json").code == 1
    assert run("lock", "--update", "workflows/b.json").code == 0
    assert run("lock", "--check").code == 0


def test_a_lockfile_below_the_paths_holds_for_all_of_them(run: Run, write: Any, two: Any, tmp_path: Any) -> None:
    where = ("--file", f"workflows/{LOCK}")
    write("beside.json", workflow(step("one"), id="demo.cc"))
    assert run("lock", "--update", *where).code == 0
    assert "3 workflows unchanged" in run("lock", "--check", *where).out
    write("workflows/a.json", workflow(step("other"), id="demo.aa"))
    (tmp_path / "workflows" / "b.json").unlink()
    ran = run("lock", "--check", *where)
    assert ran.code == 1
    assert "a.json: changed" in ran.out
    assert "b.json: in the lockfile, but the file is gone" in ran.out
    assert "1 changed, 1 removed" in run("lock", "--update", *where).out
    assert run("lock", "--check", *where).code == 0


def test_a_folder_is_pinned_by_its_own_configuration(run: Run, write: Any, plain: dict[str, Any]) -> None:
    routine = {**plain, "id": "routine-own", "steps": [step("inner")]}
    call = step("call-it", None, templateCall={"templateId": "wr.templates.routine.own"})
    write("part/workflows/a.json", {**plain, "steps": [step("first"), call]})
    write("part/own/routine-own.json", routine)
    write("part/workrail-lint.toml", 'routines = "own"\nexclude = ["own"]\n')
    assert run("compile", "part/workflows/a.json", "--emit", "hash").code == 0
    assert run("lock", "--update", "part").code == 0
    assert run("lock", "--check", "part").code == 0


def _pinned(steps: list[Any], **members: Any) -> bytes:
    """A lockfile of one entry with these steps and further members."""
    catalog = {"id": "a", "version": "1", "digest": "d"}
    entry = {"workflowId": "a", "hash": "sha256:0", "outline": {"workflow": {}, "steps": steps}, **members}
    return json.dumps({"lockfileVersion": 1, "catalog": catalog, "workflows": {"a": entry}}).encode()


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "not valid JSON"),
        (b'{"lockfileVersion": 1', "not valid JSON"),
        (b"{}", "not a lockfile"),
        (b'{"lockfileVersion": 2}', "update workrail-lint"),
        (b'{"lockfileVersion": 0}', "remove it and write it again"),
        (b"<<<<<<< HEAD\n", "not valid JSON (line 1, column 1: expected a value, found '<')"),
        (b'{"lockfileVersion": 1, "catalog": {}, "workflows": {}}', "damaged"),
        (
            b'{"lockfileVersion": 1, "catalog": {"id": "a", "version": "1", "digest": "d"}, "workflows": {"a": {}}}',
            "the entry of a is damaged",
        ),
        (_pinned([{"id": [], "facets": {}}], engineHash=None), "the entry of a is damaged"),
        (_pinned([{"id": "x", "loop": {}, "facets": {}}], engineHash=None), "the entry of a is damaged"),
        (_pinned([]), "the entry of a is damaged"),
    ],
)
def test_a_damaged_or_newer_lockfile_is_refused_and_kept(
    run: Run, write: Any, two: Any, content: bytes, part: str
) -> None:
    path = write(LOCK, content)
    for action in ("--check", "--update"):
        ran = run("lock", action)
        assert ran.code == 2
        assert part in ran.err
    assert path.read_bytes() == content


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes here only")
def test_a_file_name_that_is_not_utf8_can_be_pinned(run: Run, tmp_path: Any, plain: dict[str, Any]) -> None:
    with open(os.path.join(os.fsencode(tmp_path), b"a\xff.json"), "w", encoding="utf-8") as file:
        json.dump(plain, file)
    assert run("lock", "--update").code == 0
    assert list(json.loads((tmp_path / LOCK).read_text(encoding="utf-8"))["workflows"]) == ["a\udcff.json"]
    assert run("lock", "--check").code == 0


def test_missing_lockfile(run: Run, two: Any) -> None:
    ran = run("lock", "--check")
    assert ran.code == 2
    assert "lock --update" in ran.err


def test_a_lockfile_further_up_is_pointed_out(run: Run, two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("lock", "--update").code == 0
    monkeypatch.chdir("workflows")
    ran = run("lock", "--check")
    assert ran.code == 2
    assert f"found {os.path.join('..', 'workrail.lock.json')}: run this command there, or use --file" in ran.err
    assert "--update" not in ran.err, "a second lockfile is not what is wanted"
    assert run("lock", "--check", "--file", "../workrail.lock.json").code == 0


BROKEN = workflow(step(prompt="{{wr.x}}"), id="demo.cc")


def test_what_compiles_is_pinned_and_what_does_not_is_named(run: Run, write: Any, two: Any, tmp_path: Any) -> None:
    write("workflows/c.json", BROKEN)
    ran = run("lock", "--update")
    assert ran.code == 1
    assert "2 pinned (2 new, 0 changed, 0 removed)" in ran.out
    error, count = ran.err.splitlines()
    (found,) = [f for f in json.loads(run("check", "--format", "json").out)["findings"] if f["severity"] == "error"]
    start = found["range"]["start"]
    place = f"workflows/c.json:{start['line']}:{start['column']}"
    assert error == f"{place}: error {found['code']}: {found['message']}"
    assert count == "workrail-lint: 1 workflow can't be compiled and is not pinned"
    assert list(json.loads((tmp_path / LOCK).read_text())["workflows"]) == ["workflows/a.json", "workflows/b.json"]
    assert list(tmp_path.glob(".*")) == []


def test_what_compiles_is_verified_and_what_does_not_is_named(run: Run, write: Any, two: Any) -> None:
    run("lock", "--update")
    write("workflows/c.json", BROKEN)
    ran = run("lock", "--check")
    assert (ran.code, ran.out) == (1, f"{LOCK}: 2 workflows unchanged\n")
    assert "1 workflow can't be compiled and is not verified" in ran.err
    write("workflows/a.json", workflow(step("other"), id="demo.aa"))
    ran = run("lock", "--check")
    assert ran.code == 1
    assert "workflows/a.json: changed" in ran.out


def test_a_failure_ends_with_the_failure(run: Run, write: Any, two: Any) -> None:
    run("lock", "--update")
    for name in two:
        write(name, BROKEN)
    ran = run("lock", "--check")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[-1] == "workrail-lint: 2 workflows can't be compiled and are not verified"


def test_a_workflow_that_broke_keeps_its_entry(run: Run, write: Any, two: Any, tmp_path: Any) -> None:
    run("lock", "--update")
    pinned = (tmp_path / LOCK).read_bytes()
    write("workflows/b.json", {**BROKEN, "id": "demo.bb"})
    assert run("lock", "--update").code == 1
    assert (tmp_path / LOCK).read_bytes() == pinned
    write("workflows/b.json", two["workflows/b.json"])
    assert run("lock", "--check").code == 0


def test_what_the_baseline_accepts_is_passed_over(run: Run, write: Any, two: Any, tmp_path: Any) -> None:
    write("workflows/c.json", BROKEN)
    run("check", "--write-baseline", "accepted.json")
    write("workrail-lint.toml", 'baseline = "accepted.json"\n')
    for action in ("--update", "--check"):
        ran = run("lock", action)
        assert ran.code == 0
        assert ran.err == "workrail-lint: skipped 1 workflow with compile errors that are in the baseline\n"
    assert list(json.loads((tmp_path / LOCK).read_text())["workflows"]) == ["workflows/a.json", "workflows/b.json"]
    write("workflows/c.json", workflow(step(prompt="{{wr.y}}"), id="demo.cc"))
    assert run("lock", "--check").code == 1  # it broke in another way
    write("workrail-lint.toml", 'baseline = "missing.json"\n')
    ran = run("lock", "--check")
    assert ran.code == 2
    assert "missing.json" in ran.err


def test_nothing_is_written_when_nothing_compiles(run: Run, write: Any, tmp_path: Any) -> None:
    write("workflows/c.json", BROKEN)
    ran = run("lock", "--update")
    assert ran.code == 1
    assert "no workflow compiles" in ran.err
    assert not (tmp_path / LOCK).exists()


def test_no_workflow_at_all(run: Run, tmp_path: Any) -> None:
    assert run("lock", "--update").code == 3
    assert not (tmp_path / LOCK).exists()


def test_lock_needs_an_action(run: Run) -> None:
    assert run("lock").code == 2


def test_diff_of_two_files(run: Run, write: Any) -> None:
    old = workflow(step("one", "First line.\nSecond line."), step("two"), step("three"))
    new = workflow(
        step("two", requireConfirmation=True),
        step("one", "First line.\nAnother line."),
        step("four", outputContract={"contractRef": "wr.contracts.gate_verdict"}),
    )
    write("old.json", old)
    write("new.json", new)
    ran = run("diff", "old.json", "new.json")
    assert ran.code == 1
    assert "step 'three': removed" in ran.out
    assert "step 'four': added" in ran.out
    assert ": moved" in ran.out
    assert "step 'two': confirmation changed" in ran.out
    assert "-Second line." in ran.out
    assert "+Another line." in ran.out
    data = json.loads(run("diff", "old.json", "new.json", "--format", "json").out)
    assert {change["kind"] for change in data["changes"]} == {"added", "removed", "moved", "changed"}


def test_diff_shows_lines_that_look_like_its_own_marks(run: Run, write: Any) -> None:
    write("old.json", workflow(step("first", "Do it.\n---\n-- a remark\nThe end.")))
    write("new.json", workflow(step("first", "Do it.\n++ more\n@@ here\nThe end.")))
    shown = [line.strip() for line in run("diff", "old.json", "new.json").out.splitlines()]
    assert shown[1:] == ["Do it.", "----", "--- a remark", "+++ more", "+@@ here", "The end."]


def test_diff_of_equal_behaviour(run: Run, write: Any, plain: dict[str, Any]) -> None:
    write("old.json", plain)
    write("new.json", json.dumps(plain))
    ran = run("diff", "old.json", "new.json")
    assert (ran.code, ran.out) == (0, "no change in behaviour\n")


def test_diff_takes_compiled_workflows(run: Run, write: Any, plain: dict[str, Any]) -> None:
    write("old.json", compile_workflow(plain).value.ir)
    write("new.json", plain)
    assert run("diff", "old.json", "new.json").code == 0
    write("old.json", {"format": "workrail.ir/99"})
    assert run("diff", "old.json", "new.json").code == 2
    ir = compile_workflow(plain).value.ir
    write("old.json", {**ir, "steps": [{**ir["steps"][0], "id": []}]})
    ran = run("diff", "old.json", "new.json")
    assert (ran.code, ran.err) == (2, "workrail-lint: old.json is a damaged IR\n")
    write("old.json", {"format": "workrail.ir/1"})
    assert "damaged" in run("diff", "old.json", "new.json").err


@pytest.fixture
def git(tmp_path: Any) -> Any:
    def run_git(*arguments: str) -> None:
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    return run_git


def test_diff_of_folders_with_git(
    run: Run, write: Any, two: Any, git: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("workflows/old/c.json", workflow(step("one"), id="demo.cc"))
    write("workflows/d.json", workflow(step("gone"), id="demo.dd"))
    write("workflows/notes.json", {"no": "workflow"})
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    ran = run("diff", "--git", "HEAD", "workflows")
    assert (ran.code, ran.out) == (0, "no change in behaviour since HEAD\n")

    steps = [step("two"), step("three", "Third."), step("uno", step("one")["prompt"], title=step("one")["title"])]
    (tmp_path / "workflows/a.json").rename(tmp_path / "workflows/renamed.json")
    write("workflows/renamed.json", {**two["workflows/a.json"], "steps": steps})
    (tmp_path / "workflows/new").mkdir()
    (tmp_path / "workflows/old/c.json").rename(tmp_path / "workflows/new/c.json")
    (tmp_path / "workflows/old").rmdir()
    (tmp_path / "workflows/d.json").unlink()
    write("workflows/e.json", workflow(step("first"), id="demo.ee"))
    ran = run("diff", "--git", "HEAD", "workflows")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "workflows/d.json: removed",
        "workflows/e.json: added",
        "workflows/new/c.json: moved from workflows/old/c.json",
        "workflows/renamed.json: renamed from workflows/a.json",
        "  step 'three': added",
        "  step 'uno': renamed from 'one'",
        "  step 'uno': moved after 'three'",
    ]
    data = json.loads(run("diff", "--git", "HEAD", "workflows", "--format", "json").out)
    assert [(item["path"], item["status"], item["from"]) for item in data["files"]] == [
        ("workflows/d.json", "removed", "workflows/d.json"),
        ("workflows/e.json", "added", None),
        ("workflows/new/c.json", "moved", "workflows/old/c.json"),
        ("workflows/renamed.json", "renamed", "workflows/a.json"),
    ]
    assert data["files"][3]["changes"][2] == {
        "kind": "moved",
        "step": "uno",
        "from": "one",
        "followed": None,
        "follows": "three",
    }
    # One file finds what it was by its id, and so does a run from another folder.
    ran = run("diff", "--git", "HEAD", "workflows/new/c.json")
    assert (ran.code, ran.out) == (1, "workflows/new/c.json: moved from workflows/old/c.json\nno change in behaviour\n")
    monkeypatch.chdir(tmp_path / "workflows" / "new")
    assert run("diff", "--git", "HEAD", ".").out == "c.json: added\n"
    assert "moved from" in run("diff", "--git", "HEAD", "..").out


def test_diff_of_folders_goes_on_after_a_workflow_that_does_not_compile(
    run: Run, write: Any, two: Any, git: Any
) -> None:
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    write("workflows/a.json", {**BROKEN, "id": "demo.aa"})
    write("workflows/b.json", workflow(step("last"), id="demo.bb"))
    write("workrail-lint.toml", 'exclude = ["drafts"]\n')
    write("workflows/drafts/c.json", BROKEN)
    ran = run("diff", "--git", "HEAD", "workflows")
    assert ran.code == 2
    assert "workflows/a.json:" in ran.err
    assert ran.out.startswith("workflows/b.json: changed\n")
    assert "\n  step 'again': removed\n" in ran.out
    assert "drafts" not in ran.out
    assert run("diff", "--git", "nope", "workflows").code == 2


def test_diff_passes_over_an_unchanged_file_that_does_not_compile(run: Run, write: Any, two: Any, git: Any) -> None:
    write("workflows/a.json", {**BROKEN, "id": "demo.aa"})
    write("workrail-lint.toml", 'baseline = "accepted.json"\n')
    assert run("check", "--write-baseline", "accepted.json").code == 0
    assert run("check").code == 0
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    for paths in ([], ["."], ["workflows"]):  # the project is the default
        ran = run("diff", "--git", "HEAD", *paths)
        assert (ran.code, ran.out, ran.err) == (0, "no change in behaviour since HEAD\n", "")
    assert run("diff", "--git", "HEAD", "workflows/a.json").out == "no change in behaviour\n"

    write("workflows/a.json", {**BROKEN, "id": "demo.aa", "name": "Another name"})
    ran = run("diff", "--git", "HEAD")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("workrail-lint: not compared: 1 workflow with compile errors\n")


def test_diff_with_git(run: Run, write: Any, plain: dict[str, Any], git: Any) -> None:
    write("workflows/a.json", plain)
    assert run("diff", "--git", "HEAD", "workflows/a.json").code == 2
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    assert run("diff", "--git", "HEAD", "workflows/a.json").code == 0
    write("workflows/a.json", {**plain, "steps": [step("first"), step("second", "Do it differently.")]})
    ran = run("diff", "--git", "HEAD", "workflows/a.json")
    assert ran.code == 1
    assert "step 'second': prompt changed" in ran.out
    assert run("diff", "--git", "nope", "workflows/a.json").code == 2
    assert run("diff", "--git", "--output=x", "workflows/a.json").code == 2
    write("workflows/new.json", plain)
    assert run("diff", "--git", "HEAD", "workflows/new.json").code == 2


def test_diff_usage(run: Run, write: Any, plain: dict[str, Any]) -> None:
    write("a.json", plain)
    assert run("diff", "a.json").code == 2
    assert run("diff", "a.json", "missing.json").code == 2
    write("bad.json", {**plain, "steps": []})
    assert run("diff", "a.json", "bad.json").code == 2


def test_a_lockfile_is_the_same_text_as_one_made_at_once() -> None:
    entries = {"b.json": {"outline": {"steps": []}, "hash": "x\n"}, "a\u00e4.json": {"hash": None}}
    document = {"lockfileVersion": VERSION, "catalog": {"id": "c"}, "workflows": dict(sorted(entries.items()))}
    expected = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    assert Lockfile({"id": "c"}, entries).text() == expected
    empty = json.dumps({"lockfileVersion": VERSION, "catalog": {"id": "c"}, "workflows": {}}, indent=2) + "\n"
    assert Lockfile({"id": "c"}, {}).text() == empty


def test_a_workflow_more_is_a_few_kilobytes_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what was compiled only the entry stays, so a repository with thousands of workflows fits in memory."""

    def done(action: str) -> None:
        assert main(["lock", action]) == 0

    peaks: dict[int, list[int]] = {}
    for count in (1, 10, 40):  # the first one loads what is loaded once
        folder = tmp_path / str(count)
        folder.mkdir()
        monkeypatch.chdir(folder)
        for number in range(count):
            (folder / f"w{number}.json").write_text(json.dumps(workflow(step("first"), id=f"w-{number}")))
        # The second update reads what the first one wrote.
        peaks[count] = [peak_memory(functools.partial(done, action)) for action in ("--update", "--check", "--update")]
    assert all(peaks[40][each] - peaks[10][each] < 30 * 10_000 for each in range(3)), peaks
