"""docs: a Markdown page for each workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cli_types import Run

from workrail_lint.systems.workrail.rules.samples import controlled_loop, step, workflow

FIXTURES = Path(__file__).parents[2] / "fixtures/workflows"


def test_a_page_says_what_a_reader_wants_to_know(run: Run, write: Any, tmp_path: Path) -> None:
    write(
        "workflows/one.json",
        workflow(
            step("classify", "Set the context variable `severity` to low or high."),
            step("warn", "Warn the users.", runCondition={"var": "severity", "equals": "high"}),
            {**controlled_loop(), "requireConfirmation": True},
            step("judge", "Submit a wr.review_verdict.", outputContract={"contractRef": "wr.contracts.review_verdict"}),
            id="demo.one",
            name="One",
            preconditions=["Inputs: `ticketId`", "The tree is clean"],
            recommendedPreferences={"recommendedAutonomy": "guided"},
        ),
    )
    ran = run("docs", "workflows", "--out", "pages")
    assert (ran.code, ran.out) == (0, "pages: 2 pages, 2 written, 0 removed\n")
    page = (tmp_path / "pages/demo.one.md").read_text("utf-8")
    for text in (
        "# One",
        "- `ticketId` (input)",
        "- The tree is clean",
        "```mermaid\nflowchart TD",
        "- sets `severity`",
        "- runs if severity is high",
        "to approve",
        "- `wr.contracts.review_verdict` from step `judge`",
        "1 step can wait for approval",
        "The author recommends autonomy `guided`.",
    ):
        assert text in page, text
    assert "[One](demo.one.md)" in (tmp_path / "pages/README.md").read_text("utf-8")


def test_pages_of_the_shipped_workflows_are_the_same_every_time(run: Run, tmp_path: Path) -> None:
    assert run("docs", str(FIXTURES), "--out", "pages").code == 0
    first = {path.name: path.read_bytes() for path in (tmp_path / "pages").iterdir()}
    assert len(first) == len(list(FIXTURES.glob("*.json"))) + 1
    ran = run("docs", str(FIXTURES), "--out", "pages")
    assert ", 0 written, 0 removed" in ran.out
    assert run("docs", str(FIXTURES), "--out", "pages", "--check").code == 0
    assert first == {path.name: path.read_bytes() for path in (tmp_path / "pages").iterdir()}


def test_check_names_what_is_not_up_to_date_and_writes_nothing(
    run: Run, write: Any, plain: Any, tmp_path: Path
) -> None:
    write("workflows/one.json", plain)
    ran = run("docs", "workflows", "--out", "pages", "--check")
    assert ran.code == 1
    assert not (tmp_path / "pages").exists()
    run("docs", "workflows", "--out", "pages")
    write("workflows/one.json", {**plain, "description": "Something else."})
    ran = run("docs", "workflows", "--out", "pages", "--check")
    assert ran.code == 1
    assert f"{plain['id']}.md: not up to date" in ran.out


def test_the_page_of_a_workflow_that_is_gone_goes_and_others_stay(
    run: Run, write: Any, plain: Any, tmp_path: Path
) -> None:
    write("workflows/one.json", plain)
    write("workflows/two.json", {**plain, "id": "demo.two"})
    write("pages/notes.md", "Ours.\n")
    run("docs", "workflows", "--out", "pages")
    (tmp_path / "workflows/two.json").unlink()
    ran = run("docs", "workflows", "--out", "pages", "--check")
    assert "demo.two.md: its workflow is gone" in ran.out
    assert "1 removed" in run("docs", "workflows", "--out", "pages").out
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == [
        "README.md",
        f"{plain['id']}.md",
        "notes.md",
    ]


def test_a_page_of_somebody_else_is_not_replaced(run: Run, write: Any, plain: Any, tmp_path: Path) -> None:
    write("workflows/one.json", plain)
    mine = write("pages/README.md", "Mine.\n")
    ran = run("docs", "workflows", "--out", "pages")
    assert ran.code == 2
    assert "was not written by this command" in ran.err
    assert mine.read_text("utf-8") == "Mine.\n"


def test_a_workflow_that_does_not_compile_keeps_its_page(run: Run, write: Any, plain: Any, tmp_path: Path) -> None:
    write("workflows/one.json", plain)
    write("workflows/two.json", {**plain, "id": "demo.two"})
    run("docs", "workflows", "--out", "pages")
    write("workflows/two.json", '{"id": "demo.two"}')
    assert run("docs", "workflows", "--out", "pages").code == 1
    assert (tmp_path / "pages/demo.two.md").exists()


def test_what_authors_write_is_no_markup(run: Run, write: Any, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script> [x](javascript:y) `code` | cell\n# heading \x1b[31m"
    write(
        "workflows/one.json",
        workflow(
            step("first", hostile, title=hostile), id="demo.one", name=hostile, description=hostile, about=hostile
        ),
    )
    assert run("docs", "workflows", "--out", "pages").code == 0
    for page in (tmp_path / "pages").iterdir():
        whole = page.read_text("utf-8")
        text = "".join(part.split("```")[-1] for part in whole.split("```mermaid"))
        assert "<script" not in text.replace("\\<", "")
        assert "](javascript" not in text.replace("\\]", "")
        assert "\x1b" not in whole
        assert "\n# heading" not in text


def test_two_workflows_of_one_name_have_two_pages(run: Run, write: Any, plain: Any, tmp_path: Path) -> None:
    write("workflows/one.json", plain)
    write("workflows/two.json", plain)
    assert "3 pages" in run("docs", "workflows", "--out", "pages").out


def test_nothing_to_write(run: Run) -> None:
    assert run("docs", "--out", "pages").code == 3
