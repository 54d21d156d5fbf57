"""Folders of goldens are not searched for tests, unless there is something else in them."""

from __future__ import annotations

import pytest
from golden_suite import Suite


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Suite:
    made = Suite(pytester)
    made.tests(test_a="def test_one(golden):\n    golden('Look.')\n")
    made.run(mode="new")
    # Prints the name of every file that pytest considers.
    conftest = made.path / "conftest.py"
    looks = "\ndef pytest_collect_file(file_path):\n    print(f'looks at {file_path.name}')\n"
    conftest.write_text(conftest.read_text() + looks)
    return made


def test_goldens_are_passed_by(suite: Suite) -> None:
    result = suite.run("-s")
    assert result.parseoutcomes() == {"passed": 1}
    assert "looks at test_a.py" in result.stdout.str()
    assert ".golden.json" not in result.stdout.str()


def test_whatever_else_is_there_is_found(suite: Suite) -> None:
    (suite.path / "__goldens__" / "test_a" / "test_b.py").write_text("def test_two():\n    pass\n")
    assert suite.outcomes() == {"passed": 2}


def test_one_that_is_asked_for_is_looked_at(suite: Suite) -> None:
    assert "looks at test_one.golden.json" in suite.run("-s", "__goldens__").stdout.str()
