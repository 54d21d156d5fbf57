"""Links where goldens are kept: a repository can hold them, so nothing is read, written or removed through one."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_suite import Suite

from pytest_workrail.cli import main

pytestmark = pytest.mark.promise("Writes stay", "goldens that are links")

TEST = "def test_one(golden):\n    golden({!r})\n"


@pytest.fixture
def outside(suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite with one golden that fits, and a folder that is none of its business."""
    suite.tests(test_it=TEST.format("One."))
    assert suite.run(mode="new").ret == 0
    folder = tmp_path_factory.mktemp("outside")
    (folder / "precious").write_text("precious")
    return folder


def untouched(folder: Path) -> bool:
    return {path.name: path.read_text() for path in folder.iterdir()} == {"precious": "precious"}


@pytest.mark.parametrize(("mode", "is_dangling"), [("check", False), ("update", False), ("update", True)])
def test_a_golden_that_is_a_link(suite: Suite, outside: Path, mode: str, is_dangling: bool) -> None:
    golden = suite.golden("test_one")
    golden.unlink()
    golden.symlink_to(outside / ("made" if is_dangling else "precious"))
    result = suite.run(mode=mode)
    result.assert_outcomes(failed=1)
    assert "it is a symbolic link" in result.stdout.str()
    assert untouched(outside)
    assert golden.is_symlink()


def test_a_link_among_goldens_that_fit(suite: Suite, outside: Path) -> None:
    """Its folder is known to be no link by then."""
    suite.tests(test_it=TEST.format("One.") + TEST.replace("one", "two").format("One."))
    golden = suite.golden("test_one")
    (outside / "precious").write_bytes(golden.read_bytes())
    golden.with_name("test_two.golden.json").symlink_to(outside / "precious")
    result = suite.run()
    result.assert_outcomes(passed=1, failed=1)
    assert "it is a symbolic link" in result.stdout.str()


def test_a_pending_change_that_is_a_link(suite: Suite, outside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not even a plain run of the tests may write through it."""
    golden = suite.golden("test_one")
    golden.with_name(golden.name + ".pending").symlink_to(outside / "made")
    suite.tests(test_it=TEST.format("Two."))
    suite.run().assert_outcomes(failed=1)
    assert untouched(outside)
    main(["golden", "list"])
    assert "symbolic link" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("mode", "name"), [("check", "__goldens__"), ("update", "__goldens__/test_it"), ("prune", "__goldens__")]
)
def test_a_folder_that_is_a_link(suite: Suite, outside: Path, name: str, mode: str) -> None:
    folder = suite.path / name
    folder.rename(suite.path / "moved")
    folder.symlink_to(outside)
    (outside / "test_gone.golden.json").write_text("{}")
    (outside / ".workrail-0123456789abcdef.tmp").write_text("")
    before = sorted(outside.rglob("*"))
    result = suite.run(mode=mode)
    assert result.ret == 1
    assert "symbolic link" in result.stdout.str()
    assert sorted(outside.rglob("*")) == before


def test_no_decision_goes_through_a_link(
    suite: Suite, outside: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.tests(test_it=TEST.format("Two."))
    suite.run().assert_outcomes(failed=1)
    golden = suite.golden("test_one")
    (outside / "precious").write_bytes(golden.read_bytes())
    golden.unlink()
    golden.symlink_to(outside / "precious")
    before = (outside / "precious").read_bytes()
    monkeypatch.chdir(golden.parent)
    assert main(["golden", "accept", "--all"]) == 2
    assert main(["golden", "migrate"]) == 2
    assert (outside / "precious").read_bytes() == before
    assert "symbolic link" in capsys.readouterr().err


def test_a_test_module_that_is_a_link_is_not_rewritten(suite: Suite, outside: Path) -> None:
    source = "def test_one(inline):\n    inline()\n"
    conftest = (suite.path / "conftest.py").read_text()
    conftest += (
        "\nimport sys\nfrom pytest_workrail.golden.plugin import check_inline\n\n"
        "@pytest.fixture\ndef inline(request):\n"
        "    def match(text=None):\n        frame = sys._getframe(1)\n"
        "        check_inline(request.config, request.node.nodeid, 'one', text, frame)\n    return match\n"
    )
    (suite.path / "conftest.py").write_text(conftest)
    (outside / "test_linked.py").write_text(source)
    (suite.path / "test_linked.py").symlink_to(outside / "test_linked.py")
    result = suite.run("test_linked.py", mode="update")
    assert "it is a symbolic link" in result.stdout.str()
    assert (outside / "test_linked.py").read_text() == source
