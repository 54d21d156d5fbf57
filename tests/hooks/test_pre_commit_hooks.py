"""Our hooks, run by the real pre-commit in real repositories."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from workrail_lint.systems.workrail.rules import samples

if TYPE_CHECKING:
    from conftest import Hooks, InstalledHooks  # type: ignore[import-not-found]

ROOT = Path(__file__).resolve().parents[2]
OFFERED: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
# One path of every kind of document that has a place of its own.
DOCUMENTS = (
    "tests/a.scenario.json",
    "shop/login.workflow.json",
    "shop/.output/block-a.json",
    "shop/.run/repo-mount.json",
    "shop/.run/env-a.json",
    "shop/.run/fan-in-g.json",
    "shop/.run/prompt-a.txt",
    "shop/.run/trace.json",
    ".agents-work/2026-03-01_add-login/status.json",
    ".agents-work/2026-03-01_add-login/tasks.yaml",
    ".agents-work/2026-03-01_add-login/acceptance.json",
    ".agents-work/2026-03-01_add-login/spec.md",
    ".agents-work/2026-03-01_add-login/architecture.md",
    ".agents-work/2026-03-01_add-login/report.md",
    ".agents-work/2026-03-01_add-login/adr/ADR-001.md",
    ".agents-work/2026-03-01_add-login/research/research-forms.md",
    ".agents-work/2026-03-01_add-login/design-specs/design-spec-form.md",
    ".agents-work/2026-03-01_add-login/approve-design-history.jsonl",
    ".agents-work/2026-03-01_add-login/exchanges/0007-QA-T-001.input.json",
    ".agents-work/2026-03-01_add-login/0007-QA-T-001.output.json",
    ".agents-work/2026-03-01_add-login/0003.plan.json",
    ".agents-work/2026-03-01_add-login/run.trace.json",
)


def save(folder: Path, path: str, document: object) -> Path:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    text = document if isinstance(document, str) else json.dumps(document, indent=2) + "\n"
    target.write_text(text, encoding="utf-8")
    return target


def good(ident: str = "demo.example") -> dict[str, Any]:
    return samples.workflow(id=ident)


def bad() -> dict[str, Any]:
    return samples.workflow(samples.loop(maxIterations=...))


CHECKED = {"workrail-lint", "workrail-lint-fix"}


def test_the_hooks_that_are_offered() -> None:
    entries = {hook["id"]: hook["entry"] for hook in OFFERED}
    assert entries == {
        "workrail-lint": "workrail-lint check --",
        "workrail-lint-fix": "workrail-lint check --fix --",
        "workrail-format": "workrail-lint format --",
        "workrail-lock": "workrail-lint lock --check --",
    }


def test_the_manifest_is_one_for_pre_commit() -> None:
    from pre_commit.clientlib import load_manifest

    assert len(load_manifest(str(ROOT / ".pre-commit-hooks.yaml"))) == len(OFFERED)


@pytest.mark.parametrize(
    ("path", "ids"),
    [
        ("workflows/a.json", {*CHECKED, "workrail-format", "workrail-lock"}),
        ("deep/down/workflows/x/a.json", {*CHECKED, "workrail-format", "workrail-lock"}),
        (".workrail/workflows/a.json", {*CHECKED, "workrail-format", "workrail-lock"}),
        ("routines/a.json", {*CHECKED, "workrail-format", "workrail-lock"}),
        (".workrail/bindings.json", {*CHECKED, "workrail-lock"}),
        ("workrail.lock.json", {"workrail-lock"}),
        ("workrail-lint.toml", {"workrail-lock"}),
        ("pyproject.toml", {"workrail-lock"}),
        ("workflows/__goldens__/a.golden.json", {"workrail-lock"}),
        *((path, CHECKED) for path in DOCUMENTS),
        ("package.json", set()),
        (".agents-work/2026-03-01_add-login/notes.txt", set()),
        (".agents-work/2026-03-01_add-login/package.json", set()),
        (".agents-work/spec.md", set()),
        ("docs/spec.md", set()),
        (".output/block-a.json.rejected", set()),
        (".output/report.json", set()),
        (".run/notes.json", set()),
        ("run/env-a.json", set()),
        ("workflows.json", set()),
        (".github/workflows/ci.yml", set()),
        ("myworkflows/a.json", set()),
    ],
)
def test_hooks_look_at_workflows_and_leave_the_rest_alone(path: str, ids: set[str]) -> None:
    assert {hook["id"] for hook in OFFERED if re.search(hook["files"], path)} == ids


def test_a_good_file_passes_and_a_bad_one_fails_with_our_message(hooks: Hooks, tmp_path: Path) -> None:
    project = hooks.project(tmp_path / "project", "workrail-lint")
    save(project, "workflows/example.json", good())
    save(project, "package.json", {"name": "not ours"})
    done = hooks.run(project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"workrail-lint\.+Passed", done.stdout)

    save(project, "workflows/example.json", bad())
    done = hooks.run(project)
    assert done.returncode == 1
    assert re.search(r"workrail-lint\.+Failed", done.stdout)
    assert "error[LP002 loop-member-missing]" in done.stdout
    assert "--> workflows/example.json:" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("hook", ["workrail-lint", "workrail-lint-fix"])
@pytest.mark.parametrize("name", ["--write-baseline=x.workflow.json", "--ignore=LP/workflows/a.json"])
def test_no_file_name_is_an_option(hook: str, name: str, hooks: Hooks, tmp_path: Path) -> None:
    """A pull request can add a file of any name next to the workflow that it breaks."""
    project = hooks.project(tmp_path / "project", hook)
    save(project, "workflows/example.json", bad())
    save(project, name, good("demo.other"))
    done = hooks.run(project)
    assert done.returncode == 1
    assert "error[LP002 loop-member-missing]" in done.stdout


def guide(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.deep
def test_the_configuration_of_the_guide_works(installed_hooks: InstalledHooks, tmp_path: Path) -> None:
    """With the address and a revision of this repository in the places that the guide names."""
    project = installed_hooks.project(tmp_path / "project")
    block = r"^```yaml file=\.pre-commit-config\.yaml\n([\s\S]*?)^```$"
    (text,) = re.findall(block, guide("pre-commit"), re.MULTILINE)
    assert (text.count("ADDRESS"), text.count("REVISION")) == (1, 1)
    filled = text.replace("ADDRESS", str(installed_hooks.repository)).replace("REVISION", installed_hooks.revision)
    save(project, ".pre-commit-config.yaml", filled)
    save(project, "workflows/example.json", bad())
    done = installed_hooks.run(project, "workrail-lint")
    assert done.returncode == 1
    assert "error[LP002 loop-member-missing]" in done.stdout


@pytest.mark.deep
def test_pip_installs_from_the_address_of_the_guide(installed_hooks: InstalledHooks, tmp_path: Path) -> None:
    """The requirement that CI jobs install, with the address of this repository and a commit in the variable."""
    requirements = re.findall(r'pip install ("git\+\$.*")', guide("continuous-integration"))
    assert len(requirements) == 2
    variable = re.compile(r"\$\{\{ vars\.WORKRAIL_LINT \}\}|\$WORKRAIL_LINT\b")
    address = f"{installed_hooks.repository.as_uri()}@{installed_hooks.revision}"
    (requirement,) = {variable.sub(address, quoted).strip('"') for quoted in requirements}
    done = installed_hooks.pip(tmp_path, "install", "--dry-run", "--ignore-installed", "--no-deps", requirement)
    assert done.returncode == 0, done.stderr
    assert "Would install workrail-lint-" in done.stdout


def test_documents_of_all_systems_are_checked(hooks: Hooks, tmp_path: Path) -> None:
    project = hooks.project(tmp_path / "project", "workrail-lint")
    for name in ("team", "blocks"):
        shutil.copytree(ROOT / "fixtures" / name, project / name)
    save(project, "workflows/example.json", good())
    save(project, "tests/example.scenario.json", {"workflow": "../workflows/example.json"})
    done = hooks.run(project)
    assert done.returncode == 0, done.stdout + done.stderr

    (status,) = project.glob("team/full/.agents-work/*/status.json")
    save(project, str(status.relative_to(project)), {"current_state": "PLANNING"})
    save(project, "blocks/.output/block-a.json", {"blockId": "b"})
    save(project, "blocks/broken.workflow.json", {"nodes": []})
    save(project, "tests/example.scenario.json", {"workflow": "../workflows/exmaple.json"})
    done = hooks.run(project)
    assert done.returncode == 1
    for code in ("TC101", "BC117", "BC301", "SN001"):
        assert f"error[{code} " in done.stdout


def test_a_folder_can_be_checked_as_a_whole(hooks: Hooks, tmp_path: Path) -> None:
    project = hooks.project(tmp_path / "project", "workrail-lint")
    shutil.copytree(ROOT / "fixtures" / "team", project / "team")
    (report,) = project.glob("team/full/.agents-work/*/report.md")
    report.unlink()
    done = hooks.run(project)
    assert done.returncode == 0, done.stdout
    config = project / ".pre-commit-config.yaml"
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    settings["repos"][0]["hooks"][0] |= {"args": ["."], "pass_filenames": False}
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    done = hooks.run(project)
    assert done.returncode == 1
    assert "error[TC702 " in done.stdout


def test_files_of_others_are_not_looked_at(hooks: Hooks, tmp_path: Path) -> None:
    project = hooks.project(tmp_path / "project", "workrail-lint")
    save(project, "package.json", "{ not even JSON")
    done = hooks.run(project)
    assert done.returncode == 0
    assert "no files to check" in done.stdout


def test_the_fix_hook_fixes(hooks: Hooks, tmp_path: Path) -> None:
    project = hooks.project(tmp_path / "project", "workrail-lint-fix")
    fine = json.dumps(good(), indent=2) + "\n"
    path = save(project, "workflows/example.json", fine.replace('"1.0.0",', '"1.0.0", // bump me'))
    done = hooks.run(project)
    assert done.returncode == 1
    assert "files were modified by this hook" in done.stdout
    assert json.loads(path.read_text(encoding="utf-8")) == good()
    done = hooks.run(project)
    assert done.returncode == 0, done.stdout
    assert path.read_text(encoding="utf-8").replace(" \n", "\n") == fine


def test_the_format_hook_formats(hooks: Hooks, tmp_path: Path) -> None:
    project = hooks.project(tmp_path / "project", "workrail-format")
    path = save(project, "workflows/example.json", json.dumps(good()))
    done = hooks.run(project)
    assert done.returncode == 1
    assert "files were modified by this hook" in done.stdout
    assert path.read_text(encoding="utf-8") == json.dumps(good(), indent=2) + "\n"
    assert hooks.run(project).returncode == 0


def test_the_lock_hook_notices_a_changed_workflow(hooks: Hooks, tmp_path: Path) -> None:
    from workrail_lint.cli import main

    project = hooks.project(tmp_path / "project", "workrail-lock")
    save(project, "workflows/example.json", good())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        assert main(["lock", "--update"]) == 0
    done = hooks.run(project)
    assert done.returncode == 0, done.stdout + done.stderr
    save(project, "workflows/example.json", samples.workflow(samples.step(prompt="Describe something else.")))
    done = hooks.run(project)
    assert done.returncode == 1
    assert "workflows/example.json: changed" in done.stdout


@pytest.mark.deep
def test_the_hook_needs_no_pytest(installed_hooks: InstalledHooks) -> None:
    (python,) = installed_hooks.home.glob("repo*/py_env-*/bin/python")
    probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is not None)"
    assert subprocess.run([str(python), "-c", probe], check=False).returncode == 0
