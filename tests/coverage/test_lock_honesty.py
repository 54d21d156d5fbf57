"""What counts as enforcing a lock, and what does not."""

from __future__ import annotations

import pytest
from lock_project import LockProject, lock, project

__all__ = ["project"]

PASSING = """
    @pytest.mark.enforces("first")
    def test_it():
        assert sum([1, 1]) == two()

    def two():
        return 2
"""

DISHONEST = {
    "skip": """
        @pytest.mark.enforces("first")
        @pytest.mark.skip(reason="later")
        def test_it():
            assert two() == 2
        """,
    "skip inside": """
        @pytest.mark.enforces("first")
        def test_it():
            assert two() == 2
            pytest.skip("after all")
        """,
    "xfail": """
        @pytest.mark.enforces("first")
        @pytest.mark.xfail(reason="known")
        def test_it():
            assert two() == 3
        """,
    "xpass": """
        @pytest.mark.enforces("first")
        @pytest.mark.xfail(reason="known", strict=False)
        def test_it():
            assert two() == 2
        """,
    "xfail inside": """
        @pytest.mark.enforces("first")
        def test_it():
            assert two() == 2
            pytest.xfail("known")
        """,
    "no assertion": """
        @pytest.mark.enforces("first")
        def test_it():
            two()
        """,
    "assert True": """
        @pytest.mark.enforces("first")
        def test_it():
            two()
            assert True
        """,
    "assertion of a constant": """
        @pytest.mark.enforces("first")
        def test_it():
            assert len("ab") == 2 and not False
            assert [two() == 3]
            assert two == two
        """,
    "assertion that is not reached": """
        @pytest.mark.enforces("first")
        def test_it():
            if False:
                assert two() == 2
            return
            assert two() == 2
        """,
    "assertion in the setup only": """
        @pytest.fixture
        def prepared():
            assert two() == 2

        @pytest.mark.enforces("first")
        def test_it(prepared):
            two()
        """,
    "expectation in a lambda that nobody calls": """
        @pytest.mark.enforces("first")
        def test_it():
            later = lambda: pytest.raises(ValueError, int, "x")
        """,
    "failing test": """
        @pytest.mark.enforces("first")
        def test_it():
            assert two() == 2
            assert two() == 3
        """,
    "teardown error": """
        @pytest.fixture
        def cleaned():
            yield
            raise RuntimeError("no")

        @pytest.mark.enforces("first")
        def test_it(cleaned):
            assert two() == 2
        """,
    "setup error": """
        @pytest.fixture
        def prepared():
            raise RuntimeError("no")

        @pytest.mark.enforces("first")
        def test_it(prepared):
            assert two() == 2
        """,
    "another lock": """
        @pytest.mark.enforces("second")
        def test_it():
            assert two() == 2
        """,
}
HELPER = """
        def two():
            return 2
"""


@pytest.mark.parametrize("sees_assertions", [True, False])
def test_an_honest_test_enforces_its_lock(project: LockProject, sees_assertions: bool) -> None:
    project.sees_assertions(sees_assertions)
    project.tests(PASSING)
    result = project.run()
    assert result.ret == pytest.ExitCode.OK
    assert project.enforced == ["first"]
    result.stdout.fnmatch_lines(["1 of 2 locks enforced (50%), 0 proven (0%), 0 suspect"])


@pytest.mark.parametrize("sees_assertions", [True, False])
@pytest.mark.parametrize("source", [pytest.param(source, id=name) for name, source in DISHONEST.items()])
def test_nothing_else_does(project: LockProject, source: str, sees_assertions: bool) -> None:
    project.sees_assertions(sees_assertions)
    project.tests(source + HELPER)
    project.run()
    assert "first" not in project.enforced
