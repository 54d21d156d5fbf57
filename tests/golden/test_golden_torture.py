"""Everything that has ever made people lose a golden, or get one they never approved."""

from __future__ import annotations

import json

import pytest
from golden_suite import Suite

TWO = """
def test_one(golden):
    golden("One.")

def test_two(golden):
    golden("Two.")
"""
CHANGED = TWO.replace("One.", "First.").replace("Two.", "Second.")

FAILURES = {
    "after": "def test_one(golden):\n    golden('First.')\n    assert False\n",
    "before": "def test_one(golden):\n    assert False\n    golden('First.')\n",
    "setup": "import pytest\n@pytest.fixture\ndef bad():\n    assert False\ndef test_one(bad, golden): pass\n",
    "teardown": """
import pytest
@pytest.fixture
def bad():
    yield
    assert False
def test_one(bad, golden):
    golden('First.')
""",
    "xfail": "import pytest\n@pytest.mark.xfail\ndef test_one(golden):\n    golden('First.')\n    assert False\n",
    "xpass": "import pytest\n@pytest.mark.xfail(strict=False)\ndef test_one(golden):\n    golden('First.')\n",
    "skip": "import pytest\ndef test_one(golden):\n    golden('First.')\n    pytest.skip('enough')\n",
}


def _kept(suite: Suite, modules: str = TWO) -> dict[str, bytes]:
    """A suite whose goldens are in place."""
    suite.tests(test_it=modules)
    assert suite.run(mode="new").ret == 0
    before = suite.files()
    assert before
    return before


class TestCheck:
    def test_missing_fails_and_writes_nothing(self, suite: Suite) -> None:
        suite.tests(test_it=TWO)
        result = suite.run()
        result.assert_outcomes(failed=2)
        result.stdout.fnmatch_lines(
            [
                "*no golden yet: __goldens__/test_it/test_one.golden.json",
                "*--workrail-golden=new*",
                "2 missing",
            ]
        )
        assert suite.files() == {}

    def test_the_same_passes_and_touches_nothing(self, suite: Suite) -> None:
        before = _kept(suite)
        stamps = {path: (suite.path / path).stat().st_mtime_ns for path in before}
        result = suite.run()
        result.assert_outcomes(passed=2)
        result.stdout.no_fnmatch_line("=* goldens =*")
        suite.run("-vv").stdout.fnmatch_lines(["=* goldens =*", "2 match"])
        assert suite.files() == before
        assert {path: (suite.path / path).stat().st_mtime_ns for path in before} == stamps

    def test_a_change_fails_in_three_lines_and_is_shown_once_at_the_end(self, suite: Suite) -> None:
        before = _kept(suite)
        suite.tests(test_it=TWO.replace("One.", "First."))
        result = suite.run()
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines(
            [
                "_* test_one _*",
                "golden differs: prompt of 'step-0': one word",
                "in __goldens__/test_it/test_one.golden.json",
                "look at it with: workrail-test golden diff __goldens__/test_it/test_one.golden.json",
                "=* goldens =*",
                "1 different, 1 match; decide with: workrail-test golden review",
                "[[]??????] prompt of 'step-0': one word, in 1 run: test_it/test_one",
                "    [[]-One-]{+First+}.",
                "=* short test summary info =*",
                "FAILED test_it.py::test_one - golden differs: prompt of 'step-0': one word",
                "1 failed, 1 passed*",
            ],
            consecutive=True,
        )
        pending = {path: data for path, data in suite.files().items() if path not in before}
        assert list(pending) == ["__goldens__/test_it/test_one.golden.json.pending"]
        assert {path: data for path, data in suite.files().items() if path in before} == before

    def test_the_advice_fits_where_pytest_was_called(self, suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
        _kept(suite)
        suite.tests(test_it=CHANGED)
        (suite.path / "sub").mkdir()
        monkeypatch.chdir(suite.path / "sub")
        result = suite.run("--rootdir=..", "..")
        result.stdout.fnmatch_lines(["*workrail-test golden diff ../__goldens__/test_it/test_one.golden.json"])

    def test_a_pending_change_goes_when_the_test_passes_again(self, suite: Suite) -> None:
        before = _kept(suite)
        suite.tests(test_it=CHANGED)
        suite.run()
        assert len(suite.files()) == 4
        suite.tests(test_it=TWO)
        assert suite.run().ret == 0
        assert suite.files() == before

    def test_a_reformatted_golden_is_the_same_golden(self, suite: Suite) -> None:
        _kept(suite)
        golden = suite.golden("test_one")
        golden.write_bytes(json.dumps(json.loads(golden.read_bytes()), indent="\t").replace("\n", "\r\n").encode())
        assert suite.run().ret == 0
        assert suite.run(mode="update").ret == 0

    @pytest.mark.parametrize("damage", ["", "<<<<<<< HEAD\n{}", '{"format": "workrail.golden/1"}'])
    def test_a_damaged_golden_fails_and_stays(self, suite: Suite, damage: str) -> None:
        _kept(suite)
        suite.golden("test_one").write_text(damage)
        result = suite.run()
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines(["*golden can't be used: __goldens__/test_it/test_one.golden.json is *"])
        assert suite.golden("test_one").read_text() == damage
        assert suite.run(mode="update").ret == 0
        assert suite.run().ret == 0

    def test_verbose_shows_it_all(self, suite: Suite) -> None:
        many = "def test_it(golden):\n    golden(*(f'Prompt {number} %s.' for number in range(40)))\n"
        _kept(suite, many % "old")
        suite.tests(test_it=many % "new")
        suite.run().stdout.fnmatch_lines(["golden differs: prompt of 'step-0': one word, and 39 more changes"])
        suite.run("-vvv").stdout.fnmatch_lines(["  prompt of 'step-39': one word", "      Prompt 39 [[]-old-]{+new+}."])

    def test_one_change_in_many_tests_is_shown_once_and_with_v_for_each(self, suite: Suite) -> None:
        many = (
            "import pytest\n@pytest.mark.parametrize('n', range(9))\n"
            "def test_it(golden, n):\n    golden('{0} it.', f'{{n}}')\n"
        )
        _kept(suite, many.format("Do"))
        suite.tests(test_it=many.format("Undo"))
        result = suite.run()
        result.assert_outcomes(failed=9)
        text = result.stdout.str()
        assert text.count("golden differs: prompt of 'step-0': one word\n") == 2, text
        assert "one word, in 9 runs: test_it/test_it[0], test_it[1], test_it[2] and 6 more" in text
        text = suite.run("-vv").stdout.str()
        assert text.count("golden differs: prompt of 'step-0': one word\n") == 18, text

    def test_a_test_with_another_failure_is_shown_beside_one_with_the_same_change(self, suite: Suite) -> None:
        both = "def test_one(golden):\n    golden('{0} it.')\ndef test_two(golden):\n    {1}\n    golden('{0} it.')\n"
        _kept(suite, both.format("Do", "pass"))
        suite.tests(test_it=both.format("Undo", "assert 1 == 2"))
        result = suite.run()
        result.assert_outcomes(failed=2)
        result.stdout.fnmatch_lines(["FAILED *::test_one - golden differs*", "FAILED *::test_two - assert 1 == 2"])

    @pytest.mark.parametrize("style", ["line", "no", "short", "long", "native"])
    def test_a_failure_stays_short_in_every_style(self, suite: Suite, style: str) -> None:
        _kept(suite)
        suite.tests(test_it=CHANGED)
        result = suite.run(f"--tb={style}")
        assert len(result.outlines) <= {"line": 14, "no": 11}.get(style, 20), result.stdout.str()
        if style == "line":
            result.stdout.fnmatch_lines(["*.py:*: golden differs: prompt of 'step-0': one word"])

    def test_metadata_differ_without_a_failure_and_are_refreshed_by_an_update(self, suite: Suite) -> None:
        module = (
            "from msgspec.structs import replace\nfrom golden_made_up import made_up\n"
            "from pytest_workrail.golden.plugin import check_golden\ndef test_one(request):\n"
            "    run = replace(made_up('One.'), workflow_hash='sha256:{0}')\n"
            "    check_golden(request.config, request.node.nodeid, run)\n"
        )
        before = _kept(suite, module.format("a"))
        suite.tests(test_it=module.format("b"))
        for mode in ("check", "new", "prune"):
            assert suite.run(mode=mode).ret == 0
            assert suite.files() == before
        result = suite.run(mode="update")
        result.assert_outcomes(passed=1)
        result.stdout.no_fnmatch_line("*updated*")
        (text,) = suite.files().values()
        assert b"sha256:b" in text


class TestContinuousIntegration:
    @pytest.fixture(autouse=True)
    def _ci(self, suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
        suite.tests(test_it=TWO)
        monkeypatch.setenv("CI", "true")

    @pytest.mark.parametrize("mode", [None, "new", "update", "prune"])
    def test_missing_fails_in_every_mode(self, suite: Suite, mode: str | None) -> None:
        result = suite.run(mode=mode)
        result.assert_outcomes(failed=2)
        result.stdout.fnmatch_lines(["*not written in CI*"])
        assert suite.files() == {}

    @pytest.mark.parametrize("mode", [None, "new", "update", "prune"])
    def test_a_change_fails_in_every_mode_and_nothing_is_written(
        self, suite: Suite, mode: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("CI")
        before = _kept(suite)
        monkeypatch.setenv("CI", "1")
        suite.tests(test_it=CHANGED)
        result = suite.run(mode=mode)
        result.assert_outcomes(failed=2)
        if mode is not None:
            result.stdout.fnmatch_lines([f"*--workrail-golden={mode} does nothing in CI without *"])
        assert suite.files() == before

    def test_unused_ones_stay(self, suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CI")
        before = _kept(suite)
        monkeypatch.setenv("CI", "1")
        suite.tests(test_it="def test_one(golden):\n    golden('One.')\n")
        assert suite.run(mode="prune").ret == 0
        assert suite.files() == before

    def test_somebody_may_insist(self, suite: Suite) -> None:
        assert suite.run("--workrail-write-in-ci", mode="update").ret == 0
        assert len(suite.files()) == 2

    def test_the_other_variable_counts_and_a_denial_too(self, suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CI")
        monkeypatch.setenv("BUILD_NUMBER", "7")
        assert suite.run(mode="new").ret == 1
        monkeypatch.setenv("CI", "false")
        assert suite.run(mode="new").ret == 0


class TestNew:
    def test_writes_what_is_missing_and_nothing_else(self, suite: Suite) -> None:
        before = _kept(suite)
        suite.tests(test_it=CHANGED + "\ndef test_three(golden):\n    golden('Three.')\n")
        result = suite.run(mode="new")
        result.assert_outcomes(passed=1, failed=2)
        result.stdout.fnmatch_lines(["*1 written:", "*test_three.golden.json"])
        after = suite.files()
        assert {path: after[path] for path in before} == before
        assert suite.golden("test_three").exists()


class TestUpdate:
    def test_writes_what_changed(self, suite: Suite) -> None:
        before = _kept(suite)
        suite.tests(test_it=CHANGED)
        result = suite.run(mode="update")
        result.assert_outcomes(passed=2)
        result.stdout.fnmatch_lines(["*2 updated:", "*test_one.golden.json", "*test_two.golden.json"])
        assert suite.files().keys() == before.keys()
        assert all(suite.files()[path] != data for path, data in before.items())
        assert suite.run().ret == 0

    @pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
    def test_a_test_that_does_not_pass_updates_nothing(self, suite: Suite, failure: str) -> None:
        before = _kept(suite)
        suite.tests(test_it=failure + "\ndef test_two(golden):\n    golden('Two.')\n")
        suite.run(mode="update")
        assert suite.files() == before

    def test_an_interrupted_test_updates_nothing_and_the_one_before_it_does(self, suite: Suite) -> None:
        before = _kept(suite)
        suite.tests(test_it=CHANGED + "    raise KeyboardInterrupt\n")
        assert suite.run_apart(mode="update").ret == pytest.ExitCode.INTERRUPTED
        changed = {path for path, data in suite.files().items() if before[path] != data}
        assert changed == {"__goldens__/test_it/test_one.golden.json"}

    def test_all_goldens_of_a_test_or_none(self, suite: Suite) -> None:
        modules = "def test_one(golden):\n    golden('{0} A')\n    golden('{0} B')\n    golden('{0} C', name='c')\n"
        before = _kept(suite, modules.format("old"))
        assert suite.names() == ["test_one", "test_one.2", "test_one.c"]
        suite.tests(test_it=modules.format("new") + "    assert False\n")
        suite.run(mode="update").stdout.fnmatch_lines(["3 left alone, as the test did not pass"])
        assert suite.files() == before
        suite.tests(test_it=modules.format("new"))
        assert suite.run(mode="update").ret == 0
        assert all(suite.files()[path] != data for path, data in before.items())

    @pytest.mark.parametrize(
        "selection", [["-k", "one"], ["test_it.py::test_one"], ["--deselect", "test_it.py::test_two"]]
    )
    def test_a_subset_updates_the_subset(self, suite: Suite, selection: list[str]) -> None:
        before = _kept(suite)
        suite.tests(test_it=CHANGED)
        assert suite.run(*selection, mode="update").ret == 0
        changed = {path for path, data in suite.files().items() if before[path] != data}
        assert changed == {"__goldens__/test_it/test_one.golden.json"}

    def test_a_deleted_golden_is_missing_then_written(self, suite: Suite) -> None:
        before = _kept(suite)
        suite.golden("test_one").unlink()
        suite.run().assert_outcomes(passed=1, failed=1)
        assert not suite.golden("test_one").exists()
        assert suite.run(mode="update").ret == 0
        assert suite.files() == before

    def test_a_skipped_test_keeps_its_golden(self, suite: Suite) -> None:
        before = _kept(suite)
        suite.tests(test_it="import pytest\npytestmark = pytest.mark.skip('not now')\n" + CHANGED)
        for mode in ("check", "new", "update", "prune"):
            result = suite.run(mode=mode)
            result.assert_outcomes(skipped=2)
            result.stdout.no_fnmatch_line("*unused*")
            assert suite.files() == before

    def test_a_test_that_is_skipped_half_way_keeps_all_its_goldens(self, suite: Suite) -> None:
        both = "import pytest\ndef test_one(golden):\n    golden('A', name='a')\n{0}    golden('B', name='b')\n"
        before = _kept(suite, both.format(""))
        suite.tests(test_it=both.format("    pytest.skip('enough')\n"))
        for mode in ("update", "prune"):
            suite.run(mode=mode).assert_outcomes(skipped=1)
            assert suite.files() == before

    def test_a_skipped_module_keeps_its_goldens(self, suite: Suite) -> None:
        suite.tests(test_other="def test_here(golden):\n    golden('Here.')\n")
        before = _kept(suite)
        suite.tests(test_it="import pytest\npytest.skip('not here', allow_module_level=True)\n" + TWO)
        for mode in ("update", "prune"):
            result = suite.run(mode=mode)
            result.assert_outcomes(passed=1, skipped=1)
            result.stdout.no_fnmatch_line("*unused*")
            assert suite.files() == before

    def test_a_pending_change_is_settled_by_it(self, suite: Suite) -> None:
        _kept(suite)
        suite.tests(test_it=CHANGED)
        suite.run()
        assert suite.run(mode="update").ret == 0
        assert suite.names() == ["test_one", "test_two"]


class TestPrune:
    GONE = "def test_one(golden):\n    golden('One.')\n"

    def test_unused_ones_are_named_by_a_full_run(self, suite: Suite) -> None:
        before = _kept(suite)
        suite.tests(test_it=self.GONE)
        result = suite.run()
        result.stdout.fnmatch_lines(["*1 unused (remove them with: pytest --workrail-golden=prune):", "*test_two*"])
        assert suite.files() == before

    def test_and_removed_only_when_asked(self, suite: Suite) -> None:
        _kept(suite)
        suite.tests(test_it=self.GONE)
        for mode in ("check", "new", "update"):
            suite.run(mode=mode)
            assert suite.names() == ["test_one", "test_two"]
        result = suite.run(mode="prune")
        result.stdout.fnmatch_lines(["*1 removed:", "*test_two.golden.json"])
        assert suite.names() == ["test_one"]

    def test_a_run_with_failures_removes_nothing(self, suite: Suite) -> None:
        before = _kept(suite)
        suite.tests(test_it=self.GONE + "\ndef test_red():\n    assert False\n")
        suite.run(mode="prune").stdout.fnmatch_lines(["*1 unused, but kept as the run has failures:"])
        assert suite.files() == before

    @pytest.mark.parametrize(
        "selection",
        [
            ["-k", "one"],
            ["-m", "not left"],
            ["--deselect=test_it.py::test_left"],
            ["test_it.py"],
            ["test_it.py::test_one"],
        ],
    )
    def test_a_subset_removes_nothing(self, suite: Suite, selection: list[str]) -> None:
        before = _kept(suite)
        suite.tests(test_it=self.GONE + "\nimport pytest\n@pytest.mark.left\ndef test_left(): pass\n")
        suite.run(*selection, mode="prune").stdout.fnmatch_lines(["not pruned: *"])
        assert suite.files() == before

    def test_a_run_that_stopped_early_removes_nothing(self, suite: Suite) -> None:
        suite.tests(test_z="def test_z(golden):\n    golden('Z.')\n")
        before = _kept(suite)
        suite.tests(test_it=self.GONE + "\ndef test_stop(request):\n    request.session.shouldstop = 'enough'\n")
        suite.run(mode="prune")
        assert suite.files() == before

    def test_no_tests_at_all_remove_nothing(self, suite: Suite) -> None:
        before = _kept(suite)
        (suite.path / "test_it.py").unlink()
        assert suite.run(mode="prune").ret == pytest.ExitCode.NO_TESTS_COLLECTED
        assert suite.files() == before

    def test_collecting_removes_nothing(self, suite: Suite) -> None:
        before = _kept(suite)
        suite.tests(test_it=self.GONE)
        assert suite.run("--collect-only", mode="prune").ret == 0
        assert suite.files() == before

    def test_an_empty_set_of_parameters_removes_nothing(self, suite: Suite) -> None:
        module = (
            "import pytest\n@pytest.mark.parametrize('name', {0})\n"
            "def test_each(golden, name):\n    golden(name)\ndef test_one(golden):\n    golden('One.')\n"
        )
        before = _kept(suite, module.format(["a", "b"]))
        suite.tests(test_it=module.format([]))
        suite.run(mode="prune").assert_outcomes(passed=1, skipped=1)
        assert suite.files() == before
        suite.tests(test_it=module.format(["a"]))
        assert suite.run(mode="prune").ret == 0
        assert suite.names() == ["test_each[a]", "test_one"]

    def test_an_empty_glob_removes_nothing(self, suite: Suite) -> None:
        module = (
            "from pathlib import Path\n"
            "def test_all(golden):\n"
            "    for path in sorted(Path(__file__).parent.glob('*.txt')):\n"
            "        golden(path.name, name=path.stem)\n"
            "def test_one(golden):\n    golden('One.')\n"
        )
        for name in ("a", "b"):
            (suite.path / f"{name}.txt").write_text("")
        before = _kept(suite, module)
        for name in ("a", "b"):
            (suite.path / f"{name}.txt").unlink()
        result = suite.run(mode="prune")
        result.stdout.fnmatch_lines(["*2 unused, but kept as their tests passed without looking at any golden:"])
        assert suite.files() == before
        (suite.path / "a.txt").write_text("")
        assert suite.run(mode="prune").ret == 0
        assert suite.names() == ["test_all.a", "test_one"]

    @pytest.mark.parametrize("mode", ["update", "prune"])
    def test_a_pattern_that_matches_no_file_touches_nothing(self, suite: Suite, mode: str) -> None:
        before = _kept(suite)
        suite.tests(test_it=CHANGED)
        assert suite.run("scenarios/*.scenario.json", mode=mode).ret == pytest.ExitCode.USAGE_ERROR
        assert suite.files() == before

    def test_a_file_that_was_not_collected_keeps_its_goldens(self, suite: Suite) -> None:
        suite.tests(test_other="def test_other(golden):\n    golden('Other.')\n")
        before = _kept(suite)
        for arguments in (["--ignore=test_other.py"], ["-o", "python_files=test_it.py"]):
            assert suite.run(*arguments, mode="prune").ret == 0
            assert suite.files() == before
        (suite.path / "test_other.py").unlink()
        assert suite.run(mode="prune").ret == 0
        assert suite.names() == ["test_one", "test_two"]

    @pytest.mark.parametrize("how", ["plugin", "condition"])
    def test_a_test_that_pytest_does_not_see_keeps_its_golden(self, suite: Suite, how: str) -> None:
        before = _kept(suite)
        if how == "plugin":
            conftest = (suite.path / "conftest.py").read_text()
            suite.pytester.makeconftest(conftest + "\ndef pytest_collection_modifyitems(items):\n    del items[1:]\n")
        else:
            suite.tests(test_it=TWO.replace("def test_two(golden):", "if False:\n  def test_two(golden):"))
        result = suite.run(mode="prune")
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(["1 unused, but kept as the file still speaks of their tests:"])
        assert suite.files() == before

    def test_folders_outside_the_run_are_not_looked_at(self, suite: Suite) -> None:
        for folder in ("a", "b"):
            (suite.path / folder).mkdir()
            (suite.path / folder / f"test_{folder}.py").write_text(TWO)
        assert suite.run(mode="new").ret == 0
        for folder in ("a", "b"):
            (suite.path / folder / f"test_{folder}.py").write_text(self.GONE)
        assert suite.run("a", mode="prune").ret == 0
        assert suite.names() == ["test_one", "test_one", "test_two"]
        assert (suite.path / "b/__goldens__/test_b/test_two.golden.json").exists()

    def test_a_renamed_test_is_missing_and_its_old_golden_unused(self, suite: Suite) -> None:
        before = _kept(suite)
        suite.tests(test_it=TWO.replace("test_one", "test_first"))
        result = suite.run()
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines(["*no golden yet: *test_first.golden.json", "*1 unused*", "*test_one.golden.json"])
        assert suite.files() == before
        assert suite.run(mode="new").ret == 0
        assert suite.names() == ["test_first", "test_one", "test_two"]
        assert suite.golden("test_first").read_bytes() == suite.golden("test_one").read_bytes()
        assert suite.run(mode="prune").ret == 0
        assert suite.names() == ["test_first", "test_two"]

    def test_the_pending_change_of_a_removed_golden_goes_with_it(self, suite: Suite) -> None:
        _kept(suite)
        suite.tests(test_it=CHANGED)
        suite.run("-k", "two")
        assert "test_two.golden.json.pending" in suite.names()
        suite.tests(test_it=self.GONE)
        assert suite.run(mode="prune").ret == 0
        assert suite.names() == ["test_one"]


class TestClaims:
    def test_two_contents_in_one_name(self, suite: Suite) -> None:
        suite.tests(test_it="def test_one(golden):\n    golden('A', name='x')\n    golden('B', name='x')\n")
        result = suite.run(mode="update")
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*golden claimed twice: *test_one.x.golden.json has to be two things at once*"])
        assert suite.files() == {}

    def test_the_same_content_twice_is_fine(self, suite: Suite) -> None:
        suite.tests(test_it="def test_one(golden):\n    golden('A', name='x')\n    golden('A', name='x')\n")
        assert suite.run(mode="update").ret == 0
        assert suite.names() == ["test_one.x"]

    def test_names_that_only_some_file_systems_tell_apart(self, suite: Suite) -> None:
        suite.tests(test_it="def test_one(golden):\n    golden('A')\ndef test_ONE(golden):\n    golden('B')\n")
        result = suite.run(mode="update")
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines(
            ["*golden claimed twice: *test_ONE.golden.json already belongs to *::test_one as *test_one*"]
        )
        suite.tests(test_it="def test_one(golden):\n    golden('A', name='x')\n    golden('B', name='X')\n")
        suite.run(mode="update").assert_outcomes(failed=1)

    def test_goldens_of_different_folders_and_classes(self, suite: Suite) -> None:
        (suite.path / "sub").mkdir()
        method = "class TestX:\n    def test_one(self, golden):\n        golden('A')\n"
        (suite.path / "sub" / "test_sub.py").write_text(method + "def test_one(golden):\n    golden('B')\n")
        assert suite.run(mode="new").ret == 0
        assert set(suite.files()) == {
            "sub/__goldens__/test_sub/TestX-test_one.golden.json",
            "sub/__goldens__/test_sub/test_one.golden.json",
        }
        assert suite.run("sub").ret == 0
        assert suite.run("--rootdir", str(suite.path), "sub/test_sub.py").ret == 0
