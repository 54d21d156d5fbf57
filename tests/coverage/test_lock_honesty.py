"""What counts as enforcing a lock, and what does not."""

from __future__ import annotations

import sys
import textwrap

import pytest
from lock_project import LockProject, lock, project

__all__ = ["project"]

CONFTEST = """
import pytest

@pytest.fixture
def check_two():
    def check(value):
        assert value == 2
    return check
"""
HELPER = """
def two():
    return 2
"""
# Imported by tests; the folder of tests is on the path.
HELPERS = """
def three():
    return 3

def assert_nothing(value):
    pass

def assert_three(value):
    assert value == 3

def call(function):
    return function()
"""

# Each claims its own lock; the text is what the report says against it.
DISHONEST = {
    "skipped": (
        "was skipped",
        """
        @pytest.mark.skip(reason="later")
        def test_it():
            assert two() == 2
        """,
    ),
    "skipped-inside": (
        "was skipped",
        """
        def test_it():
            assert two() == 2
            pytest.skip("after all")
        """,
    ),
    "xfailed": (
        "failed as expected",
        """
        @pytest.mark.xfail(reason="known")
        def test_it():
            assert two() == 3
        """,
    ),
    "xfailed-inside": (
        "failed as expected",
        """
        def test_it():
            assert two() == 2
            pytest.xfail("known")
        """,
    ),
    "xpassed": (
        "passed although it was expected to fail",
        """
        @pytest.mark.xfail(reason="known", strict=False)
        def test_it():
            assert two() == 2
        """,
    ),
    "xpassed-strictly": (
        "failed",
        """
        @pytest.mark.xfail(reason="known", strict=True)
        def test_it():
            assert two() == 2
        """,
    ),
    "no-assertion": (
        "asserted nothing",
        """
        def test_it():
            two()
        """,
    ),
    "assert-true": (
        "asserted nothing",
        """
        def test_it():
            two()
            assert True
        """,
    ),
    "assert-constants": (
        "asserted nothing",
        """
        def test_it():
            assert len("ab") == 2 and not False
            assert [two() == 3]
            assert two == two
        """,
    ),
    "not-reached": (
        "asserted nothing",
        """
        def test_it():
            if False:
                assert two() == 2
            return
            assert two() == 2
        """,
    ),
    "asserted-in-setup": (
        "asserted nothing",
        """
        @pytest.fixture
        def prepared():
            assert two() == 2

        def test_it(prepared):
            two()
        """,
    ),
    "never-called": (
        "asserted nothing",
        """
        def test_it():
            later = lambda: pytest.raises(ValueError, int, "x")

            def unused():
                assert two() == 2
        """,
    ),
    "asserted-by-the-product": (
        "asserted nothing",
        """
        import json.decoder

        def test_it():
            json.decoder.JSONDecoder().decode("[]")
        """,
    ),
    "empty-loop": (
        "asserted nothing",
        """
        def test_it():
            for number in []:
                assert two() == number
        """,
    ),
    "beside-its-condition": (
        "asserted nothing",
        """
        def test_it():
            if two() == 3: assert two() == 3
            for number in []: assert two() == number
            while two() == 3: assert two() == 3
            def unused(): assert two() == 2
        """,
    ),
    "decorated-away": (
        "asserted nothing",
        """
        import functools

        def only_elsewhere(test):
            @functools.wraps(test)
            def left_out():
                return None
            return left_out

        @only_elsewhere
        def test_it():
            assert two() == 3
        """,
    ),
    "unittest-constants": (
        "asserted nothing",
        """
        import unittest

        class TestIt(unittest.TestCase):
            def test_it(self):
                two()
                self.assertTrue(True)
                self.assertEqual(len("ab"), 2)
        """,
    ),
    "swallowed": (
        "asserted nothing",
        """
        import contextlib

        def test_it():
            with contextlib.suppress(ZeroDivisionError):
                1 / 0
                assert two() == 3
        """,
    ),
    "expected-of-itself": (
        "asserted nothing",
        """
        def test_it():
            with pytest.raises(AssertionError):
                assert two() == 3
            with pytest.raises(ValueError):
                two()
                raise ValueError
            pytest.raises(ValueError)
        """,
    ),
    "caught": (
        "asserted nothing",
        """
        import contextlib

        def test_it():
            try:
                assert two()
                assert two() == 3
            except Exception:
                pass
            with contextlib.suppress(AssertionError):
                assert two()
        """,
    ),
    "only-called-so": (
        "asserted nothing",
        """
        import helpers_of_tests
        from helpers_of_tests import assert_nothing

        class TestIt:
            def assert_it(self, value):
                pass

            def test_it(self):
                self.assert_it(two())
                assert_it(two())
                assert_nothing(two())
                helpers_of_tests.assert_nothing(two())

        def assert_it(value):
            pass
        """,
    ),
    "the-function-itself": (
        "asserted nothing",
        """
        import helpers_of_tests
        from helpers_of_tests import three

        def test_it():
            assert three
            assert helpers_of_tests.three
        """,
    ),
    "true-by-form": (
        "asserted nothing",
        """
        from unittest.mock import ANY

        def test_it():
            value = two()
            assert value == 3 if False else True
            assert len(str(value)) >= 0
            assert isinstance(value, object)
            assert value == ANY
            assert any([value == 3, True])
            assert value in [value, 3]
            assert value is None or value is not None
            assert "got %s" % value
        """,
    ),
    "own-values": (
        "asserted nothing",
        """
        from unittest.mock import Mock

        EXPECTED = 2

        @pytest.mark.parametrize("given", [1])
        def test_it(given):
            class Fake:
                value = 2
            def own():
                return 2
            mock = Mock()
            count = 1
            count += 1
            items = [1]
            items.append(2)
            assert given == 1
            assert Fake.value == 2 and own() == 2 and mock.two() and count == 2
            assert EXPECTED == 2 and __name__ and items == [1, 2]
            for number in [1, 2]:
                assert number > 0
        """,
    ),
    "written-down": (
        "asserted nothing",
        """
        from types import SimpleNamespace
        from unittest import mock

        def test_it(workrail):
            later = lambda: two() == 3
            def inner():
                return two() == 3
            values = [two()]
            pair = (two(), 3)
            fake = mock.Mock(status="complete")
            assert later and inner is not None
            assert len(values) == 1 and values and len(pair) > 1
            assert fake.status == "complete" and SimpleNamespace(two=2).two == 2
            assert workrail and workrail is not None
        """,
    ),
    "unittest-by-form": (
        "asserted nothing",
        """
        import unittest

        class TestIt(unittest.TestCase):
            def test_it(self):
                value = two()
                self.assertEqual(value, value)
                self.assertTrue(value or True)
                self.assertTrue(True, value)
        """,
    ),
    "called-by-nobody": (
        "asserted nothing",
        """
        async def later():
            assert two() == 3

        def lazily():
            assert two() == 3
            yield

        def test_it():
            later().close()
            lazily()
        """,
    ),
    "early-return": (
        "asserted nothing",
        """
        def test_it(request):
            if request:
                return
            assert two() == 3
        """,
    ),
    "failed": (
        "failed",
        """
        def test_it():
            assert two() == 2
            assert two() == 3
        """,
    ),
    "failed-in-teardown": (
        "failed in teardown",
        """
        @pytest.fixture
        def cleaned():
            yield
            raise RuntimeError("no")

        def test_it(cleaned):
            assert two() == 2
        """,
    ),
    "failed-in-setup": (
        "failed in setup",
        """
        @pytest.fixture
        def prepared():
            raise RuntimeError("no")

        def test_it(prepared):
            assert two() == 2
        """,
    ),
}
# What only watching finds out: the expectation is there, but never met.
WRITTEN_NOT_DONE = (
    "decorated-away",
    "not-reached",
    "never-called",
    "empty-loop",
    "beside-its-condition",
    "swallowed",
    "early-return",
    "called-by-nobody",
)
# What only watching finds: the expectation is not in the test itself.
WRITTEN_ELSEWHERE = (
    "assert-in-a-helper",
    "assert-in-a-helper-of-one-line",
    "assert-in-another-file",
    "state-machine",
    "imported-check",
)
HONEST = {
    "assert-statement": """
        def test_it():
            assert two() == 2
        """,
    "assert-behind-a-decorator": """
        import functools

        def passed_on(test):
            @functools.wraps(test)
            def called():
                return test()
            return called

        @passed_on
        def test_it():
            assert two() == 2
        """,
    "assert-in-a-helper": """
        def test_it():
            check(two())

        def check(value):
            assert value == 2
        """,
    "assert-in-a-helper-of-one-line": """
        def test_it():
            check(two())

        def check(value): assert value == 2
        """,
    "assert-in-another-file": """
        def test_it(check_two):
            check_two(two())
        """,
    "length-of-what-grows": """
        def test_it():
            values = [0]
            for number in range(two()):
                values.append(number)
            assert len(values) == 3
        """,
    "passed-to-what-is-tested": """
        def test_it():
            values = [1, 2]
            check_changed(values)
            assert len(values) == 2

        def check_changed(values):
            values[0] = two()
        """,
    "called-when-asserted": """
        def test_it():
            later = lambda: two() == 2
            assert later()
        """,
    "assert-in-a-loop": """
        def test_it():
            for number in [1, 2]:
                if number > 1:
                    assert two() == number
        """,
    "assert-in-a-block": """
        import contextlib

        def test_it():
            with contextlib.nullcontext():
                assert two() == 2
        """,
    "assert-over-several-lines": """
        def test_it():
            for number in [2]:
                assert (
                    two()
                    ==
                    number
                ), "words"
        """,
    "state-machine": """
        from hypothesis import settings
        from hypothesis.stateful import RuleBasedStateMachine, rule

        class Machine(RuleBasedStateMachine):
            @rule()
            def look(self):
                assert two() == 2

        TestIt = Machine.TestCase
        TestIt.settings = settings(max_examples=2, stateful_step_count=2, database=None)
        """,
    "assert-in-an-inner-function": """
        def test_it():
            def check(value):
                assert value == 2
            check(two())
        """,
    "expected-exception": """
        def test_it():
            with pytest.raises(ValueError):
                int("x")
        """,
    "expected-exception-by-name": """
        from pytest import raises

        def test_it():
            raises(ValueError, int, "x")
        """,
    "expected-warning": """
        import warnings

        def test_it():
            with pytest.warns(UserWarning):
                warnings.warn("old")
        """,
    "unittest": """
        import unittest

        class TestIt(unittest.TestCase):
            def test_it(self):
                self.assertEqual(two(), 2)
        """,
    "mock": """
        from unittest.mock import Mock

        def test_it():
            mock = Mock()
            mock(1)
            mock.assert_called_once_with(1)
        """,
    "matcher": """
        from pytest_workrail.run.pytest_session import note_assertion

        def test_it():
            note_assertion("golden")
        """,
    "told-by-a-call": """
        from helpers_of_tests import call

        def test_it():
            seen, log, found = [], list(), {}
            call(lambda: seen.append(1))
            log.append(two())
            count = 0
            def up():
                nonlocal count
                count += 1
            call(up)
            for number in [1, 2, 3]:
                if two() == number:
                    break
            assert seen == [1]
            assert log == [2]
            assert count == 1
            assert number == 2
        """,
    "seen-only": """
        from helpers_of_tests import call

        def test_it():
            seen = []
            call(lambda: seen.append(1))
            assert seen == [1]
        """,
    "counted-only": """
        def test_it():
            found = False
            for number in [1, 2, 3]:
                if two() == number:
                    found = True
            assert found
        """,
    "imported-check": """
        from helpers_of_tests import assert_three

        def test_it():
            assert_three(two() + 1)
        """,
    "check-that-fails": """
        from helpers_of_tests import assert_three

        def test_it():
            with pytest.raises(AssertionError):
                assert_three(two())
        """,
    "caught-and-raised": """
        def test_it():
            try:
                assert two() == 2
            except AssertionError:
                print("two")
                raise
        """,
    "hypothesis": """
        from hypothesis import given, settings, strategies

        @given(strategies.integers())
        @settings(max_examples=3, database=None)
        def test_it(number):
            assert number + two() > number
        """,
    "parametrized": """
        @pytest.mark.parametrize("number", [1, 2])
        def test_it(number):
            assert number + two() > number
        """,
}


def written(project: LockProject, lock_id: str, source: str) -> None:
    """A file whose only test claims a lock."""
    claim = f'pytestmark = pytest.mark.enforces("{lock_id}")\n'
    project.tests(claim + textwrap.dedent(source) + HELPER, f"test_{lock_id.replace('-', '_')}")


@pytest.mark.parametrize("is_traced", [False, True], ids=["alone", "with a debugger"])
def test_the_honesty_table(project: LockProject, is_traced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    dishonest = dict(DISHONEST)
    if is_traced:
        # Two tracers can't share a thread. What is written then has to be taken for what is done.
        monkeypatch.setattr(sys, "gettrace", lambda: print)
        for name in WRITTEN_NOT_DONE:
            del dishonest[name]
    project.helpers(CONFTEST)
    (project.pytester.path / "helpers_of_tests.py").write_text(HELPERS, encoding="utf-8")
    (project.pytester.path / "pytest.ini").write_text("[pytest]\ntestpaths = .\n", encoding="utf-8")
    honest = {name: source for name, source in HONEST.items() if name not in WRITTEN_ELSEWHERE or not is_traced}
    project.registry(*(lock(lock_id) for lock_id in (*dishonest, *honest)))
    for lock_id, (_, source) in dishonest.items():
        written(project, lock_id, source)
    for lock_id, source in honest.items():
        written(project, lock_id, source)
    project.run()
    assert project.flaws == {lock_id: flaw for lock_id, (flaw, _) in dishonest.items()}
    assert project.enforced == sorted(honest)


def test_a_deselected_test_enforces_nothing(project: LockProject) -> None:
    written(project, "first", HONEST["assert-statement"])
    written(project, "second", HONEST["assert-statement"])
    project.run("-k", "test_second")
    assert (project.enforced, project.flaws) == (["second"], {})
    project.run("--deselect", "test_first.py")
    assert project.enforced == ["second"]


def test_a_test_that_was_not_reached_enforces_nothing(project: LockProject) -> None:
    written(project, "first", "def test_it():\n    assert two() == 3\n")
    written(project, "second", HONEST["assert-statement"])
    project.run("-x")
    assert project.flaws == {"first": "failed", "second": "did not finish"}


def test_one_of_several_is_enough(project: LockProject) -> None:
    project.tests(
        """
        @pytest.mark.enforces("first")
        @pytest.mark.parametrize("number", [1, pytest.param(2, marks=pytest.mark.skip)])
        def test_it(number):
            assert number > 0
        """
    )
    project.run()
    assert project.enforced == ["first"]


def test_assertions_that_python_leaves_out_enforce_nothing(project: LockProject) -> None:
    project.tests(
        """
        @pytest.mark.enforces("first")
        def test_left_out(request):
            assert not request

        @pytest.mark.enforces("second")
        def test_kept():
            with pytest.raises(ValueError):
                int("x")
        """
    )
    options = ("-q", "-p", "no:cacheprovider", "--assert=plain", "--workrail-locks=locks.json")
    result = project.pytester.run(sys.executable, "-O", "-m", "pytest", *options, "--workrail-lock-report=out")
    result.assert_outcomes(passed=2, warnings=1)
    assert project.enforced == ["second"]
    assert project.flaws == {"first": "asserted nothing"}


CLAIMS = {
    "unknown": ('@pytest.mark.enforces("frist")', 'Unknown lock ID "frist" (did you mean "first"?) in test_locks.py:2'),
    "nothing": (
        "@pytest.mark.enforces",
        'test_locks.py:2 claims no lock: pass the ids as strings, such as @pytest.mark.enforces("lock-id")',
    ),
    "by a keyword": (
        '@pytest.mark.enforces(lock="first")',
        'test_locks.py:2 claims no lock: pass the ids as strings, such as @pytest.mark.enforces("lock-id")',
    ),
    "an id and more": (
        "# @enforces first_thing",
        'test_locks.py:3 claims "first_thing", which is not a lock id',
    ),
    "no id": ('@pytest.mark.enforces("First one")', 'test_locks.py:2 claims "First one", which is not a lock id'),
    "twice": ('@pytest.mark.enforces("first", "first")', 'test_locks.py:2 claims "first" 2 times in one place'),
    "twice in two markers": (
        '@pytest.mark.enforces("first")\n@pytest.mark.enforces("first")',
        'test_locks.py:2 claims "first" 2 times in one place',
    ),
    "obsolete": ('@pytest.mark.enforces("gone")', 'Outdated lock ID "gone": the lock is obsolete in test_locks.py:2'),
    "not applicable": (
        '@pytest.mark.enforces("elsewhere")',
        'Lock ID "elsewhere" does not apply: no such thing here in test_locks.py:2',
    ),
    "older revision": (
        '@pytest.mark.enforces("second@1")',
        'Outdated lock ID "second@1": the lock is at revision 2 in test_locks.py:2',
    ),
    "later revision": (
        '@pytest.mark.enforces("second@3")',
        'Outdated lock ID "second@3": the lock is at revision 2 in test_locks.py:2',
    ),
}


@pytest.mark.parametrize(("marker", "problem"), CLAIMS.values(), ids=CLAIMS)
def test_a_wrong_claim_is_an_error(project: LockProject, marker: str, problem: str) -> None:
    project.registry(
        lock("first"),
        lock("second", revision=2),
        lock("gone", obsolete=True),
        lock("elsewhere", applies="n/a", reason="no such thing here"),
    )
    project.tests(f"{marker}\ndef test_it(request):\n    assert request.node.name\n")
    result = project.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert project.report["warnings"] == [problem]
    result.stdout.fnmatch_lines([f"FAIL: {problem.replace('[', '[[]')}"])


def test_a_claim_may_name_its_revision(project: LockProject) -> None:
    project.registry(lock("first"), lock("second", revision=2))
    project.tests('@pytest.mark.enforces("second@2")\ndef test_it(request):\n    assert request.node.name\n')
    assert project.run().ret == pytest.ExitCode.OK
    assert project.enforced == ["second"]


def test_claims_in_docstrings_and_comments(project: LockProject) -> None:
    project.registry(
        *(lock(lock_id) for lock_id in ("module", "cls", "method", "comment", "inner", "prose", "star", "above-class"))
    )
    (project.pytester.path / "test_words.py").write_text(
        textwrap.dedent(
            '''
            """Tests.

            @enforces module
            This line speaks of @enforces prose in passing.
            """

            # @enforces comment

            import pytest


            # @enforces above-class
            class TestIt:
                """
                @enforces cls
                * @Enforces STAR
                """

                # @enforces inner
                # Both lines are directly above.
                @pytest.mark.parametrize("number", [1])
                def test_it(self, request, number):
                    """@enforces method"""
                    text = "# @enforces prose"
                    assert request.node.name in text or request
            '''
        ),
        encoding="utf-8",
    )
    assert project.run().ret == pytest.ExitCode.OK
    assert project.enforced == ["above-class", "cls", "comment", "inner", "method", "module", "star"]


MISPLACED = {
    "in the body": "def test_it(request):\n    # @enforces first\n    assert request.node.name\n",
    "beside the test": "def test_it(request):  # @enforces first\n    assert request.node.name\n",
    "a blank line between": "x = 1\n# @enforces first\n\ndef test_it(request):\n    assert request.node.name\n",
    "above a helper": "x = 1\n# @enforces first\ndef help(): ...\n\ndef test_it(request):\n    assert request.node\n",
    "at the end": "def test_it(request):\n    assert request.node.name\n# @enforces first\n",
    "above an import": "x = 1\n# @enforces first\nimport os\n\ndef test_it(request):\n    assert request.node.name\n",
}


@pytest.mark.parametrize("source", MISPLACED.values(), ids=MISPLACED)
def test_a_comment_that_is_about_no_test_is_an_error(project: LockProject, source: str) -> None:
    project.registry(lock("first"))
    (project.pytester.path / "test_words.py").write_text(source, encoding="utf-8")
    assert project.run().ret == pytest.ExitCode.TESTS_FAILED
    assert project.enforced == []
    (problem,) = project.report["warnings"]
    line = 1 + source[: source.index("# @enforces")].count("\n")
    assert problem.startswith(f'test_words.py:{line}: "@enforces first" claims nothing here')


def test_a_comment_claims_for_its_own_test_only(project: LockProject) -> None:
    project.registry(lock("first"))
    (project.pytester.path / "test_words.py").write_text(
        "import pytest\n\n\n# @enforces first\ndef test_one():\n    pytest.skip('not today')\n\n\n"
        "def test_other(request):\n    assert request.node.name\n",
        encoding="utf-8",
    )
    project.run()
    assert project.enforced == []


def test_the_registry_is_found_from_any_folder(project: LockProject, monkeypatch: pytest.MonkeyPatch) -> None:
    project.registry(lock("first"))
    project.tests('@pytest.mark.enforces("first")\ndef test_it(request):\n    assert request.node.name\n')
    (project.pytester.path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    below = project.pytester.path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    result = project.run("..")
    assert result.ret == pytest.ExitCode.OK
    assert project.enforced == ["first"]
