"""The process that tests start programs from."""

from __future__ import annotations

import os
from pathlib import Path

import forks
import pytest


def test_the_server_does_not_keep_the_path_of_the_test_that_starts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd_module.py").write_text("", encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text("import importlib.util; print(importlib.util.find_spec('odd_module'))", encoding="utf-8")
    before = dict(os.environ)
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        server = forks.started()
    (tmp_path / "empty").mkdir()
    _, output = server.run(["python", "-c", script.read_text("utf-8")], tmp_path / "empty", before)
    assert output.strip() == "None"
