"""Configurations and documents with keys and numbers that a parser chokes on: a clear answer, at a bounded cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from effort import lines_run
from tables import for_each

from pytest_workrail.cli import main as workrail_test
from workrail_lint.base.result import Ok
from workrail_lint.cli import main
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.toml_places import keys_of
from workrail_lint.documents.toml_reader import MAX_KEY_PARTS, read_toml
from workrail_lint.documents.yaml_reader import read_yaml
from workrail_lint.project.config import MAX_ENTRIES
from workrail_lint.systems.workrail.rules.samples import step, workflow

pytestmark = pytest.mark.promise(
    "A configuration costs what it is worth", "long keys and numbers in configurations and documents"
)

DIGITS = "9" * 5_000
PARTS = "has more than 16 parts"
NUMBER = "has more than 400 digits"
REFUSED = {
    "a key of 20,000 parts": ("a." * 20_000 + "b = 1\n", f"the key a.a.a.a.a.a.a.a.a.a.… {PARTS} (at line 1)"),
    "20,000 keys of many parts": ("# many\n" + ("a." * 16 + "b = 1\n") * 20_000, f"{PARTS} (at line 2)"),
    "a key of quoted parts": ('"a" . ' * 20_000 + "'b' = 1\n", PARTS),
    "the name of a table": ("x = 1\n[" + "a." * 20_000 + "b]\n", f"{PARTS} (at line 2)"),
    "the name of an array of tables": ("[[" + "a." * 20_000 + "b]]\n", PARTS),
    "a key in an inline table": ("x = {" + "a." * 20_000 + "b = 1}\n", PARTS),
    "after a string of lines": ('x = """\n"a" # \\""" ""\n"""\n' + "a." * 20_000 + "b = 1\n", f"{PARTS} (at line 4)"),
    "an integer": (f"jobs = {DIGITS}\n", f"the number 99999999999999999999… {NUMBER} (at line 1)"),
    "a negative integer": (f"\njobs = -{DIGITS}\n", f"{NUMBER} (at line 2)"),
    "an integer with a sign": (f"jobs = +{DIGITS}\n", NUMBER),
    "an integer with underscores": ("jobs = " + "9_" * 2_500 + "9\n", NUMBER),
    "a hexadecimal integer": (f"jobs = 0x{DIGITS}\n", NUMBER),
    "nested arrays": ("x = " + "[" * 5_000, "nested too deeply"),
}  # fmt: skip
ACCEPTED = {
    "as many parts as there may be": ".".join("a" * MAX_KEY_PARTS) + " = 1\n",
    "dots in a string": 'x = "' + "a." * 100 + 'b"\n',
    "dots in a string of several lines": "x = '''\n" + "a." * 100 + "b\n'''\n",
    "dots in a comment": "# " + "a." * 100 + "b\n",
    "dots in a quoted key": '"' + "a." * 100 + 'b" = 1\n',
    "digits in a string": f'x = "{DIGITS}"\n',
    "digits of a fraction": f"x = 0.{DIGITS}\n",
    "a date and a time": "x = 1979-05-27T07:32:00.999999-07:00\n",
}


@for_each("name", REFUSED)
def test_excesses_are_named_with_their_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message = REFUSED[name]
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
    Path("workrail-lint.toml").write_text(text)
    assert main(["check", "a.json"]) == 2
    said = capsys.readouterr().err
    assert "workrail-lint.toml: is not valid TOML: " in said
    assert message in said
    assert len(said) < 300
    assert max((len(key.path) for key in keys_of(text)), default=0) <= 2 * MAX_KEY_PARTS


@for_each("name", ACCEPTED)
def test_ordinary_texts_are_read(name: str) -> None:
    assert isinstance(read_toml(ACCEPTED[name]), Ok)


@pytest.mark.parametrize(
    "text",
    [
        lambda count: "[" + "a." * (MAX_KEY_PARTS - 1) + "b]\n" + ("c." * (MAX_KEY_PARTS - 1) + "{} = 1\n") * count,
        lambda count: 'x = "' + '\\"' * count * 10,
        lambda count: "x = '''" + "''a" * count * 10,
    ],
    ids=["keys", "a string that does not end", "a string of several lines that does not end"],
)
def test_what_is_parsed_costs_as_much_as_it_is_long(text: Callable[[int], str]) -> None:
    def cost(count: int) -> int:
        lines = text(count).split("{}")
        content = "".join(f"{line}{number}" for number, line in enumerate(lines)) if len(lines) > 1 else lines[0]
        return lines_run(lambda: read_toml(content))

    cost(4)
    assert cost(160) < 4**1.2 * cost(40)


@pytest.mark.parametrize("key", ["exclude", "per-file-ignores"])
def test_lists_of_patterns_have_an_end(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each file is held against each pattern: 20,000 patterns took three seconds a file."""
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
    for count, code in ((MAX_ENTRIES, 0), (MAX_ENTRIES + 1, 2)):
        names = [f"x{number}*" for number in range(count)]
        tables = [f'"{name}" = ["LC"]' for name in names]
        value = json.dumps(names) if key == "exclude" else f"{{{', '.join(tables)}}}"
        Path("workrail-lint.toml").write_text(f"{key} = {value}\n")
        assert main(["check", "--no-cache", "a.json"]) == code
    assert f"'{key}' has more than 1,000 entries" in capsys.readouterr().err


def test_numbers_of_documents_have_no_length() -> None:
    """JSON and YAML numbers are doubles; the values after a long one keep their places."""
    text = f'{{"a": {DIGITS}, "b": [-{DIGITS}, {{"c": 1}}]}}'
    for document in (read_json(text), read_yaml(text)):
        assert document.readable
        span = document.locate("/b/1/c")
        assert span is not None
        assert document.text[span.start.offset : span.end.offset] == "1"
    radix = read_yaml(f"a: 0x{DIGITS}\nb: 0o{'7' * 5_000}\nc: {'1:' * 50_000}1\n")
    assert radix.readable


GOOD = json.dumps(workflow(step("first"), step("second")))
LONG = {
    "one more member": GOOD[:-1] + f', "x": {DIGITS}}}',
    "a number alone": DIGITS,
    "in place of a version": f'{{"version": {DIGITS}, "lockfileVersion": -{DIGITS}, "entries": [{DIGITS}]}}',
}
COMMANDS = {
    "workflow": ["check", "long.json"],
    "compile": ["compile", "long.json"],
    "canonical": ["canonical", "long.json"],
    "format": ["format", "--check", "long.json"],
    "catalog": ["check", "good.json", "--catalog", "long.json"],
    "bindings": ["check", "good.json", "--bindings", "long.json"],
    "baseline": ["check", "good.json", "--baseline", "long.json"],
    "lockfile": ["lock", "--check", "--file", "long.json", "good.json"],
    "coverage": ["studio", "good.json", "--output", "page.html", "--coverage", "long.json"],
    "mutation": ["studio", "good.json", "--output", "page.html", "--mutation", "long.json"],
    "compared": ["diff", "good.json", "long.json"],
}
TEST_COMMANDS = {
    "run": ["run", "long.json"],
    "context": ["run", "good.json", "--context", f"goal={DIGITS}"],
    "generate": ["generate", "long.json"],
    "scenarios": ["mutate", "good.json", "--scenarios", "."],
    "sessions": ["sessions", "list", "--data", "data"],
    "import": ["sessions", "import", "long.json", "--data", "data"],
}


@for_each("name", [*COMMANDS, *TEST_COMMANDS])
def test_a_long_number_is_a_finding_or_a_message(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In every kind of file that a command reads: an exit code for users, never an internal error."""
    monkeypatch.chdir(tmp_path)
    Path("good.json").write_text(GOOD)
    session = Path("data/sessions/sess_a")
    session.mkdir(parents=True)
    for content in LONG.values():
        for path in (Path("long.json"), Path("long.scenario.json"), session / "manifest.jsonl"):
            path.write_text(content)
        code = main(COMMANDS[name]) if name in COMMANDS else workrail_test(TEST_COMMANDS[name])
        said = capsys.readouterr()
        assert code in (0, 1, 2, 3)
        assert "internal error" not in said.out + said.err


@for_each(
    "name", ["long.json", "long.yaml", "STATUS.json", "long.scenario.json", "bindings.json", "workrail.lock.json"]
)
def test_a_long_number_in_a_file_of_any_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for content in LONG.values():
        Path(name).write_text(content)
        assert main(["check", name]) in (0, 1, 3)
        said = capsys.readouterr()
        assert "internal error" not in said.out + said.err
