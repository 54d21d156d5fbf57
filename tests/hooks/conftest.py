"""Our hooks in repositories of other people, run by the real pre-commit: as programs of this environment, and in the
deep ring as pre-commit installs them from a clone of this repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
IDENTITY = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.com", "GIT_CONFIG_NOSYSTEM": "1"}
OFFERED: list[dict[str, object]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


def environment(home: Path) -> dict[str, str]:
    """Git and pre-commit with settings of their own: nothing of the machine's configuration plays a part."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT"))}
    kept["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), kept["PATH"]])
    committer = {name.replace("AUTHOR", "COMMITTER"): value for name, value in IDENTITY.items()}
    return {**kept, **IDENTITY, **committer, "GIT_CONFIG_GLOBAL": os.devnull, "PRE_COMMIT_HOME": str(home)}


def command(*arguments: str, cwd: Path, home: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        arguments, cwd=cwd, env=environment(home), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert not check or done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
    return done


class Hooks:
    """Makes repositories that use our hooks, and runs them."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def configuration(self, chosen: list[dict[str, object]]) -> dict[str, object]:
        """What a repository says to use these hooks: here, as programs that are there already."""
        return {"repo": "local", "hooks": [{**hook, "language": "system"} for hook in chosen]}

    def project(self, folder: Path, *hooks: str) -> Path:
        """An empty repository that is configured for some hooks."""
        folder.mkdir(parents=True)
        command("git", "init", "--quiet", cwd=folder, home=self.home)
        chosen = [hook for hook in OFFERED if hook["id"] in hooks]
        text = yaml.safe_dump({"repos": [self.configuration(chosen)]}, sort_keys=False)
        (folder / ".pre-commit-config.yaml").write_text(text, encoding="utf-8")
        return folder

    def run(self, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Stage everything and run the hooks on what is staged, as a commit would."""
        command("git", "add", "--all", cwd=folder, home=self.home)
        run = [sys.executable, "-m", "pre_commit", "run", "--color=never", *arguments]
        return command(*run, cwd=folder, home=self.home, check=False)


class InstalledHooks(Hooks):
    """The same, with the hooks as pre-commit installs them from a revision of this repository."""

    def __init__(self, home: Path, repository: Path, revision: str) -> None:
        super().__init__(home)
        self.repository = repository
        self.revision = revision

    def configuration(self, chosen: list[dict[str, object]]) -> dict[str, object]:
        hooks = [{"id": hook["id"]} for hook in chosen]
        return {"repo": str(self.repository), "rev": self.revision, "hooks": hooks}

    def pip(self, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run pip of this environment, which has what a build needs."""
        run = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments, "--no-build-isolation"]
        return command(*run, cwd=folder, home=self.home, check=False)


def clone(target: Path, home: Path) -> str:
    """Clone the repository, bring in what is not committed yet, and commit that in the clone."""
    command("git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(target), cwd=target.parent, home=home)
    listed = command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT, home=home).stdout
    present = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for name in set(command("git", "ls-files", "-z", cwd=target, home=home).stdout.split("\0")) - present - {""}:
        (target / name).unlink()
    for name in present:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name)
    command("git", "add", "--all", "--force", cwd=target, home=home)
    command("git", "commit", "--quiet", "--allow-empty", "--no-verify", "-m", "as it is", cwd=target, home=home)
    return command("git", "rev-parse", "HEAD", cwd=target, home=home).stdout.strip()


def reason_to_skip() -> str | None:
    """Why real pre-commit can't be used here; our own mistakes are never a reason."""
    if shutil.which("git") is None:
        return "git is not installed"
    if not (ROOT / ".git").exists():
        return "this is no git checkout, so that there is nothing to clone"
    try:
        import pre_commit  # noqa: F401
    except ImportError:
        return "pre-commit is not installed"
    probe = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps"]
    done = subprocess.run([*probe, "hatchling"], capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        return f"pip can't install packages here: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
    return None


@pytest.fixture(scope="session")
def installed_hooks(tmp_path_factory: pytest.TempPathFactory) -> InstalledHooks:
    """The hooks of this repository, installed by pre-commit once for all workers of a test run."""
    reason = reason_to_skip()
    if reason is not None:
        pytest.skip(reason)
    from filelock import FileLock

    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "hooks"
    shared.mkdir(exist_ok=True)
    home, repository, done = shared / "home", shared / "clone", shared / "revision"
    with FileLock(str(shared / "lock")):
        if not done.exists():
            revision = clone(repository, home)
            every = [str(hook["id"]) for hook in OFFERED]
            trial = InstalledHooks(home, repository, revision).project(shared / "trial", *every)
            command(sys.executable, "-m", "pre_commit", "install-hooks", cwd=trial, home=home)
            done.write_text(revision, encoding="utf-8")
    return InstalledHooks(home, repository, done.read_text(encoding="utf-8"))


@pytest.fixture(params=["here", pytest.param("installed", marks=pytest.mark.deep)])
def hooks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Hooks:
    """Hooks to use in projects, both ways."""
    if request.param == "installed":
        installed: Hooks = request.getfixturevalue("installed_hooks")
        return installed
    pytest.importorskip("pre_commit", reason="pre-commit is not installed: pip install pre-commit")
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    return Hooks(tmp_path_factory.mktemp("pre-commit-home"))
