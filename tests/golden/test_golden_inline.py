"""Inline goldens: the same rules as for files, and an author's formatting stays."""

from __future__ import annotations

import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import golden_suite
import pytest
from golden_suite import Suite

from pytest_workrail.golden.golden_records import Span
from pytest_workrail.golden.inline import Call, literal, same_outline
from pytest_workrail.run import result

PRELOADED = result
CONFTEST = (
    golden_suite.CONFTEST
    + """
from msgspec.structs import replace
from pytest_workrail.agents.agent import Attempt
from pytest_workrail.golden.plugin import check_inline
from pytest_workrail.run.result import Ending, Run

@pytest.fixture
def run(request):
    def made(*steps, status="complete"):
        attempts = tuple(Attempt(step, (), 1, "advanced", (), (), (), (), (), None) for step in steps)
        transcript = replace(made_up("x"), attempts=attempts, final={"status": status, "gaps": []})
        return Run(transcript, Ending("complete", ""), inline=lambda *given: check_inline(
            request.config, request.node.nodeid, *given))
    return made
"""
)
EMPTY = "def test_one(run):\n    run('plan', 'ship').match()\n"
WRITTEN = EMPTY.replace("()", '("""\n        plan\n        ship\n        -> complete\n    """)')


@pytest.fixture
def inline(suite: Suite) -> Suite:
    suite.pytester.makeconftest(CONFTEST)
    return suite


def _source(suite: Suite, module: str = "test_it") -> str:
    return (suite.path / f"{module}.py").read_bytes().decode()


def _write(suite: Suite, text: str) -> None:
    (suite.path / "test_it.py").write_bytes(text.encode())


def test_missing_is_told_then_written_then_fits(inline: Suite) -> None:
    _write(inline, EMPTY)
    result = inline.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["no inline golden yet", "in test_it.py:2", "write it with: *--workrail-golden=new"])
    assert _source(inline) == EMPTY
    result = inline.run(mode="new")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 written into tests:", "  test_it.py:2"])
    assert _source(inline) == WRITTEN
    result = inline.run("-vv")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 match"])
    assert inline.run(mode="update").ret == 0
    assert _source(inline) == WRITTEN


def test_a_difference_is_shown_and_updated_only_when_asked(inline: Suite) -> None:
    changed = WRITTEN.replace("'ship')", "'sell')")
    _write(inline, changed)
    for mode in (None, "new", "prune"):
        result = inline.run(mode=mode)
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(
            [
                "inline golden differs: outline: 1 word",
                "in test_it.py:2",
                "    plan",
                "    [[]-ship-]{+sell+}",
                "    -> complete",
                "update it with: pytest --workrail-golden=update",
            ]
        )
        assert _source(inline) == changed
    assert inline.run(mode="update").ret == 0
    assert _source(inline) == changed.replace("        ship\n", "        sell\n")


@pytest.mark.parametrize(
    "failure",
    {
        "after": "    assert False\n",
        "skip": "    import pytest; pytest.skip('enough')\n",
        "xfail": "    import pytest; pytest.xfail('so what')\n",
    }.items(),
    ids=lambda item: item[0],
)
def test_a_test_that_does_not_pass_updates_nothing(inline: Suite, failure: tuple[str, str]) -> None:
    source = EMPTY + failure[1]
    _write(inline, source)
    inline.run(mode="update")
    assert _source(inline) == source


def test_a_teardown_that_fails_updates_nothing(inline: Suite) -> None:
    source = "import pytest\n@pytest.fixture\ndef bad():\n    yield\n    assert False\n" + EMPTY.replace(
        "(run)", "(run, bad)"
    )
    _write(inline, source)
    inline.run(mode="update").assert_outcomes(passed=1, errors=1)
    assert _source(inline) == source


def test_only_selected_tests_are_updated(inline: Suite) -> None:
    two = EMPTY + EMPTY.replace("test_one", "test_two")
    _write(inline, two)
    assert inline.run("-k", "two", mode="update").ret == 0
    assert _source(inline) == EMPTY + WRITTEN.replace("test_one", "test_two")


def test_several_in_one_file_and_one_test_are_all_written(inline: Suite) -> None:
    many = "".join(EMPTY.replace("test_one", f"test_{n}") + "    run('ä').match()\n" for n in range(5))
    _write(inline, "# ünï\n" + many)
    assert inline.run(mode="new").ret == 0
    assert inline.run().ret == 0
    assert _source(inline).count('match("""') == 10


@pytest.mark.parametrize("mode", [None, "new", "update"])
def test_nothing_is_written_in_ci(inline: Suite, mode: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    _write(inline, EMPTY)
    result = inline.run(mode=mode)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*not written in CI*"])
    assert _source(inline) == EMPTY
    assert inline.run("--workrail-write-in-ci", mode="update").ret == 0


def test_a_call_is_left_alone_unless_all_tests_that_come_by_it_pass(inline: Suite) -> None:
    source = (
        "import pytest\n@pytest.mark.parametrize('fails', [False, True])\n"
        "def test_one(run, fails):\n    run('a').match()\n    assert not fails\n"
    )
    _write(inline, source)
    result = inline.run(mode="update")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*1 left alone, as the test did not pass*"])
    assert _source(inline) == source


def test_a_call_that_sees_different_runs_is_refused(inline: Suite) -> None:
    source = (
        "import pytest\n@pytest.mark.parametrize('step', ['a', 'b'])\ndef test_one(run, step):\n    run(step).match()\n"
    )
    _write(inline, source)
    result = inline.run(mode="update")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*inline golden has to be two things at once*"])
    assert _source(inline) == source
    result = inline.run_apart("-n", "2", mode="update")
    assert result.ret != 0
    assert _source(inline) == source


def test_a_call_that_sees_the_same_run_often_is_fine(inline: Suite) -> None:
    _write(
        inline, "import pytest\n@pytest.mark.parametrize('n', range(3))\ndef test_one(run, n):\n    run('a').match()\n"
    )
    assert inline.run(mode="update").ret == 0
    assert inline.run().ret == 0


@pytest.mark.parametrize("argument", ["f'{1}'", "TEXT", "'a' + 'b'", "expected='a'"])
def test_what_is_no_plain_text_is_compared_but_not_written(inline: Suite, argument: str) -> None:
    source = f"TEXT = 'a'\ndef test_one(run):\n    run('plan').match({argument})\n"
    _write(inline, source)
    inline.run().assert_outcomes(failed=1)
    result = inline.run(mode="update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["inline golden can't be written: *no plain text*"])
    assert _source(inline) == source


def test_a_file_that_changes_while_the_tests_run_is_left_alone(inline: Suite) -> None:
    source = EMPTY + "    with open(__file__, 'a') as file:\n        file.write('# more\\n')\n"
    _write(inline, source)
    result = inline.run(mode="update")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAIL: test_it.py can't be updated: it has changed since the tests ran*"])
    assert _source(inline) == source + "# more\n"


@pytest.mark.parametrize(("count", "workers", "rounds"), golden_suite.PARALLEL)
def test_parallel_updates_lose_nothing(inline: Suite, count: int, workers: int, rounds: int) -> None:
    """Texts in four modules, written once and then updated in each round."""
    each = count // 4
    one = "def test_{0}_{1}(run):\n    run('step-{1}').match()\n"
    paths = [inline.path / f"test_m{module}.py" for module in range(4)]
    for module, path in enumerate(paths):
        path.write_text("".join(one.format(module, n) for n in range(each)))
    step = "step"
    for turn in range(rounds + 1):
        together = ("-n", str(workers)) if turn or rounds > 1 else ()
        result = inline.run_apart(*together, mode="update" if turn else "new")
        result.assert_outcomes(passed=count)
        result.stdout.fnmatch_lines([f"{count} written into tests:"])
        for path in paths:
            source = path.read_text()
            assert all(f"\n        {step}-{n}\n" in source for n in range(each))
            assert source.count("\n") == 5 * each
            path.write_text(source.replace(f"('{step}-", f"('turn{turn}-"))
        step = f"turn{turn}"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system can't kill a process outright")
@pytest.mark.parametrize("is_before", [True, False])
def test_a_killed_update_leaves_a_file_old_or_new(inline: Suite, is_before: bool) -> None:
    killer = """
import os, signal
put = os.replace
def replace(source, target, **folders):
    if str(target).endswith("test_it.py"):
        if not {0}:
            put(source, target, **folders)
        os.kill(os.getpid(), signal.SIGKILL)
    put(source, target, **folders)
os.replace = replace
"""
    (inline.path / "killer.py").write_text(killer.format(is_before))
    _write(inline, EMPTY)
    assert inline.run_apart("-p", "killer", mode="update").ret == -signal.SIGKILL
    assert _source(inline) == (EMPTY if is_before else WRITTEN)


def test_a_test_that_is_renamed_takes_its_golden_along(inline: Suite) -> None:
    _write(inline, WRITTEN.replace("test_one", "test_first"))
    assert inline.run().ret == 0


def test_beside_inline_snapshot(inline: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    neighbours = Path(sys.prefix, "neighbours")
    if not neighbours.is_dir():
        pytest.skip("the other tools are not there: run `make setup`")
    monkeypatch.syspath_prepend(str(neighbours))
    import os

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.environ["PYTHONPATH"], str(neighbours)]))
    for name in [name for name in os.environ if name.startswith("PYTEST_XDIST_")]:
        monkeypatch.delenv(name)
    source = "from inline_snapshot import snapshot\n" + EMPTY + "def test_theirs():\n    assert 5 == snapshot(5)\n"
    _write(inline, source)
    inline.run_apart(mode="new").assert_outcomes(passed=2)
    assert _source(inline) == source.replace(EMPTY, WRITTEN)


@pytest.mark.parametrize(
    ("written", "outline", "expected"),
    [
        (None, "a\nb", '"""\n        a\n        b\n    """'),
        (None, "a", '"""\n        a\n    """'),
        ('"old"', "new", '"new"'),
        ("'old'", "it's", "'it\\'s'"),
        ('"old"', "a\nb", '"""\n        a\n        b\n    """'),
        ('"""old"""', "new", '"""new"""'),
        ("'''\n  old\n'''", "a\nb", "'''\n  a\n  b\n'''"),
        ('"""\\\n\told\n\tolder\n\t"""', "a\nb", '"""\\\n\ta\n\tb\n\t"""'),
        # A raw text stays raw as long as it has nothing to escape.
        ('r"""\n    old\n"""', "a", 'r"""\n    a\n"""'),
        ('R"""old"""', "a", 'r"""a"""'),
        ('u"""old"""', "a", '"""a"""'),
        ('r"""\n    old\n"""', "a\\u001b", '"""\n    a\\\\u001b\n"""'),
        ('"""\n        old"""', 'a"', '"""\n        a\\""""'),
        ('"""old"""', 'a"""b', '"""a\\"\\"\\"b"""'),
    ],
)
def test_an_authors_formatting_is_kept(written: str | None, outline: str, expected: str) -> None:
    call = Call(Path("x.py"), Span(1, 0, 1, 0), written, "    ", "")
    made = literal(call, outline)
    assert made == expected
    assert same_outline(eval(made), outline)


@pytest.mark.parametrize("outline", ["a", "a\nb", "a\\b\n\\", "it's", 'a"', "a'", 'x"""y', "x'''y\nz"])
def test_whatever_the_quotes_what_is_written_is_the_outline(outline: str) -> None:
    bodies = ("old", "\n  old\n  ", "\\\n  old\n", "\n  old", "old\n    older\n")
    blocks = [f"{quotes}{body}{quotes}" for quotes in ('"""', "'''") for body in bodies]
    for text in (*blocks, "'old'", '"old"'):
        for prefix in ("", "r", "R", "u", "U"):
            made = literal(Call(Path("x.py"), Span(1, 0, 1, 0), prefix + text, "    ", ""), outline)
            assert same_outline(eval(made), outline), (prefix + text, made)


def test_line_ends_and_encodings_stay(inline: Suite) -> None:
    text = "# -*- coding: latin-1 -*-\r\n# \xfc\r\n" + EMPTY.replace("\n", "\r\n")
    (inline.path / "test_it.py").write_bytes(text.encode("latin-1"))
    assert inline.run(mode="new").ret == 0
    data = (inline.path / "test_it.py").read_bytes()
    assert data == ("# -*- coding: latin-1 -*-\r\n# \xfc\r\n" + WRITTEN.replace("\n", "\r\n")).encode("latin-1")


def test_a_folder_that_can_not_be_written_is_told(inline: Suite) -> None:
    from test_golden_processes import _without_privileges

    command = _without_privileges()
    if command is None:
        pytest.skip("permissions do not bind root, and no command runs as another user here (setpriv)")
    _write(inline, EMPTY)
    inline.path.chmod(0o555)
    try:
        arguments = [*command, sys.executable, "-m", "pytest", "-q", "--workrail-golden=update"]
        environment: dict[str, Any] = golden_suite.environment()
        done = subprocess.run(arguments, cwd=inline.path, env=environment, capture_output=True, text=True, check=False)
    finally:
        inline.path.chmod(0o755)
    assert done.returncode == 1
    assert "inline golden can't be written: no permission to write in" in done.stdout
    assert _source(inline) == EMPTY


def test_outside_of_a_test_there_is_no_golden() -> None:
    from golden_made_up import made_up

    run = result.Run(made_up("x"), result.Ending("complete", ""))
    with pytest.raises(RuntimeError, match="belongs to a test"):
        run.match("x")
    attached = result.Run(made_up("x"), result.Ending("complete", ""), inline=lambda *_: None)
    with pytest.raises(TypeError, match="must be a string, not 5"):
        attached.match(5)  # type: ignore[arg-type]
    assert isinstance(attached.outline, types.MethodType)
    assert attached.outline() == "-> complete"
