"""Running the command line in this process, in a folder of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_types import Ran, Run

from workrail_lint.cli import main
from workrail_lint.systems.workrail.rules.samples import step, workflow


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Run a command in an empty folder; an escaped exception fails the test instead of being reported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKRAIL_LINT_DEBUG", "1")
    monkeypatch.setenv("NO_COLOR", "1")

    def runner(*arguments: str) -> Ran:
        capsysbinary.readouterr()
        code = main(list(arguments))
        captured = capsysbinary.readouterr()
        return Ran(code, captured.out.decode(), captured.err.decode())

    return runner


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Any], Path]:
    """Write a file below the folder: text and bytes as they are, anything else as indented JSON."""

    def writer(path: str, content: Any) -> Path:
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            target.write_bytes(content)
        else:
            target.write_text(
                content if isinstance(content, str) else json.dumps(content, indent=2) + "\n", encoding="utf-8"
            )
        return target

    return writer


@pytest.fixture
def plain() -> dict[str, Any]:
    return workflow(step("first"), step("second", "Do it again."))
