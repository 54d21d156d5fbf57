"""Ways to claim a lock without enforcing it. None of them counts, and what can't be a claim is called an error."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from lock_project import LockProject, lock, project

from pytest_workrail.locks.evidence import CommentClaims, Evidence
from pytest_workrail.run.pytest_session import ItemOutcome

__all__ = ["project"]

HELPER = "def two():\n    return 2\n"
MISPLACED = "claims nothing here: write it directly above a test or a class, or at the top of the module"
# Comments that claim for nobody. `first` is the lock they name.
MISPLACED_COMMENTS = {
    "on the line of the test": "def test_it(): # @enforces first\n    assert two() == 2\n",
    "inside the test": "def test_it():\n    # @enforces first\n    assert two() == 2\n",
    "after the test": "def test_it():\n    assert two() == 2\n# @enforces first\n",
    "a blank line above": "import os\n# @enforces first\n\ndef test_it():\n    assert two() == 2\n",
    "between decorator and test": (
        "@pytest.mark.filterwarnings('error')\n# @enforces first\ndef test_it():\n    assert two() == 2\n"
    ),
    "behind a decorator": "@pytest.mark.usefixtures() # @enforces first\ndef test_it():\n    assert two() == 2\n",
    "above a fixture": (
        "@pytest.fixture\n# @enforces first\ndef it():\n    assert two() == 2\n\ndef test_it(it):\n    pass\n"
    ),
    "above a helper": "x = 1\n# @enforces first\ndef check():\n    assert two() == 2\n\ndef test_it():\n    check()\n",
    "above a test in a function": (
        "def outer():\n    # @enforces first\n    def test_in():\n        assert two() == 2\n\n"
        "def test_it():\n    assert two() == 2\n"
    ),
    "above an assignment": "import os\n# @enforces first\npytestmark = []\n\ndef test_it():\n    assert two() == 2\n",
    "among parameters": (
        "@pytest.mark.parametrize('n', [\n    # @enforces first\n    2,\n])\ndef test_it(n):\n    assert two() == n\n"
    ),
    "above a test that is replaced": (
        "x = 1\n# @enforces first\ndef test_it():\n    assert two() == 2\n\ndef test_it():\n    assert two() == 2\n"
    ),
    "above a method that is replaced": (
        "class TestIt:\n    # @enforces first\n    def test_it(self):\n        assert two() == 2\n\n"
        "    def test_it(self):\n        assert two() == 2\n"
    ),
    "above one of two under a condition": (
        "if two is None:\n    # @enforces first\n    def test_it():\n        assert two() == 2\nelse:\n"
        "    def test_it():\n        assert two() == 2\n"
    ),
    "above a class of helpers": (
        "class Base:\n    # @enforces first\n    def check(self):\n        assert two() == 2\n\n"
        "class TestIt(Base):\n    def test_it(self):\n        self.check()\n"
    ),
}


@pytest.mark.parametrize("source", MISPLACED_COMMENTS.values(), ids=MISPLACED_COMMENTS)
def test_a_comment_that_claims_for_nobody_is_an_error(tmp_path: Path, source: str) -> None:
    """@enforces lock-claim-names-its-test"""
    file = tmp_path / "test_it.py"
    file.write_text(f"import pytest\n{HELPER}\n{source}", encoding="utf-8")
    compile(file.read_text("utf-8"), str(file), "exec")
    claims = CommentClaims(file)
    assert claims.claims == {}
    assert [problem.partition('"@enforces first" ')[2] for _, problem in claims.problems] == [MISPLACED]


PLACED = {
    "above a test": ("x = 1\n# @enforces first\ndef test_it():\n    pass\n", "test_it"),
    "above its decorators": ("x = 1\n# @enforces first\n@pytest.mark.skip\ndef test_it():\n    pass\n", "test_it"),
    "above an async test": ("x = 1\n# @enforces first\nasync def test_it():\n    pass\n", "test_it"),
    "above more words": ("x = 1\n# @enforces first\n# because\ndef test_it():\n    pass\n", "test_it"),
    "above a class": ("x = 1\n# @enforces first\nclass TestIt:\n    pass\n", "TestIt"),
    "above a method": (
        "class TestIt:\n    # @enforces first\n    def test_it(self):\n        pass\n",
        "TestIt.test_it",
    ),
    "at the top": ("# @enforces first\nimport pytest\n", ""),
    "under a condition": ("if True:\n    # @enforces first\n    def test_it():\n        pass\n", "test_it"),
}


@pytest.mark.parametrize(("source", "name"), PLACED.values(), ids=PLACED)
def test_a_comment_claims_for_what_is_below_it(tmp_path: Path, source: str, name: str) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(source, encoding="utf-8")
    claims = CommentClaims(file)
    assert (claims.claims, claims.problems) == ({name: ["first"]}, [])


@pytest.mark.parametrize("source", ['TEXT = """\n# @enforces first\n"""\n', 'x = "# @enforces first"\n'])
def test_a_string_is_no_comment(tmp_path: Path, source: str) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(source, encoding="utf-8")
    claims = CommentClaims(file)
    assert (claims.claims, claims.problems) == ({}, [])


@pytest.mark.parametrize("asserted", [True, False])
@pytest.mark.parametrize("ending", ItemOutcome)
def test_evidence_counts_only_with_an_assertion_and_a_pass(ending: ItemOutcome, asserted: bool) -> None:
    """@enforces lock-claim-needs-its-assertion"""
    evidence = Evidence("t.py::test_it", "t.py:1", "", (), ending, asserted)
    assert evidence.counts is (asserted and ending is ItemOutcome.PASSED)
    assert (evidence.flaw is None) is evidence.counts


# Tests that pass and claim a lock; what is said against each.
LIES = {
    "in-the-other-test": """
        # @enforces in-the-other-test
        def test_claims():
            two()

        def test_asserts():
            assert two() == 2
        """,
    "always-or-true": """
        # @enforces always-or-true
        def test_it():
            assert two() == 3 or True
        """,
    "a-tuple": """
        # @enforces a-tuple
        def test_it():
            assert (two() == 3, "it is two")
        """,
    "a-lambda": """
        # @enforces a-lambda
        def test_it():
            assert lambda: two() == 3
        """,
    "the-function-itself": """
        # @enforces the-function-itself
        def test_it():
            assert two
        """,
    "swallowed-failure": """
        # @enforces swallowed-failure
        def test_it():
            try:
                assert two() == 3
            except AssertionError:
                pass
        """,
    "suppressed-failure": """
        import contextlib

        # @enforces suppressed-failure
        def test_it():
            with contextlib.suppress(AssertionError):
                assert two() == 3
        """,
    "expected-to-fail": """
        # @enforces expected-to-fail
        @pytest.mark.xfail(reason="not yet")
        def test_it():
            assert two() == 3
        """,
    "skipped-by-a-condition": """
        # @enforces skipped-by-a-condition
        @pytest.mark.skipif(True, reason="never")
        def test_it():
            assert two() == 2
        """,
    "skipped-by-a-fixture": """
        @pytest.fixture
        def absent():
            pytest.skip("absent")

        # @enforces skipped-by-a-fixture
        def test_it(absent):
            assert two() == 2
        """,
    "no-parameters": """
        # @enforces no-parameters
        @pytest.mark.parametrize("number", [])
        def test_it(number):
            assert two() == number
        """,
    "asserted-in-teardown": """
        @pytest.fixture
        def checked():
            yield
            assert two() == 2

        # @enforces asserted-in-teardown
        def test_it(checked):
            two()
        """,
    "asserted-in-a-hook-of-its-class": """
        # @enforces asserted-in-a-hook-of-its-class
        class TestIt:
            def setup_method(self):
                assert two() == 2

            def test_it(self):
                two()
        """,
}


def test_no_lie_counts(project: LockProject) -> None:
    project.registry(*(lock(lock_id) for lock_id in LIES))
    for lock_id, source in LIES.items():
        text = f"import pytest\n{HELPER}\n{textwrap.dedent(source)}"
        (project.pytester.path / f"test_{lock_id.replace('-', '_')}.py").write_text(text, encoding="utf-8")
    project.run("-W", "ignore")
    assert project.enforced == []


def test_a_class_claims_for_what_it_inherits(project: LockProject) -> None:
    project.registry(lock("base"), lock("first"), lock("second"))
    project.tests(
        f"""
        {HELPER.replace(chr(10), chr(10) + "        ")}
        class Checks:
            def test_it(self):
                assert two() == 2

        # @enforces first
        class TestIt(Checks):
            pass

        # @enforces second
        class TestOther:
            def test_nothing(self):
                two()
        """
    )
    project.run()
    assert project.enforced == ["first"]


@pytest.mark.parametrize("name", ["conftest.py", "helpers.py"])
def test_a_comment_in_a_file_without_tests_claims_nothing(project: LockProject, name: str) -> None:
    (project.pytester.path / name).write_text("# @enforces first\ndef check():\n    assert True\n", encoding="utf-8")
    project.tests("def test_it(request):\n    assert request.node.name\n")
    project.run()
    assert project.enforced == []


def test_each_claims_in_its_own_file(project: LockProject) -> None:
    """Tests of the same name in two files: only the one with the comment claims."""
    body = "def test_it(request):\n    assert request.node.name\n"
    for name, text in (("test_a", f"# @enforces first\n{body}"), ("test_b", body)):
        (project.pytester.path / f"{name}.py").write_text(text, encoding="utf-8")
    project.run()
    enforced = str(project.report["covered"])
    assert ("test_a.py" in enforced, "test_b.py" in enforced) == (True, False)


def test_a_failing_subtest_is_no_pass(project: LockProject) -> None:
    project.tests(
        """
        import unittest

        class TestIt(unittest.TestCase):
            # @enforces first
            def test_it(self):
                for number in (2, 3):
                    with self.subTest(number=number):
                        self.assertEqual(len("ab" * len([self])), number)
        """
    )
    project.run()
    assert project.enforced == []


def test_an_async_test_that_nobody_awaits_enforces_nothing(project: LockProject) -> None:
    project.tests(
        """
        # @enforces first
        async def test_it():
            assert len("ab") + id(pytest) == 2
        """
    )
    project.run("-W", "ignore")
    assert project.enforced == []
