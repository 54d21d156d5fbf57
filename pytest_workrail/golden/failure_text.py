"""What a test says when its golden does not fit: what changed, where, and which command to run."""

from __future__ import annotations

from pytest_workrail.golden.modes import Policy
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import Style
from workrail_lint.base.wording import counted

_IN_CI = "goldens are not written in CI: run the test on your own machine, look at the change and commit it"


def missing(path: str, policy: Policy) -> str:
    """There is nothing to compare with."""
    how = "write it with: pytest --workrail-golden=new" if policy.may_write else _IN_CI
    return f"no golden yet: {path}\n{how}"


def inline_differs(place: str, expected: str | None, outline: str, policy: Policy) -> str:
    """The outline of a run is not what the test says; it is short, so it is shown."""
    from pytest_workrail.golden import show
    from pytest_workrail.golden.diff import Difference
    from pytest_workrail.golden.words import word_count

    said = "\n".join(line.strip() for line in (expected or "").strip().splitlines())
    if not said:
        how = "write it with: pytest --workrail-golden=new" if policy.may_write else _IN_CI
        return f"no inline golden yet\nin {place}\n{how}"
    change = Difference("changed", "answer", "", "outline", "", said, outline)
    shown = (f"    {line}" for line in show.change_lines(change, Style(False)))
    how = "update it with: pytest --workrail-golden=update" if policy.may_write else _IN_CI
    words = counted(word_count(change.edits), "word")
    return "\n".join([f"inline golden differs: outline: {words}", f"in {place}", *shown, how])


def unwritable(path: str, folder: str) -> str:
    """The golden may be written, but not there."""
    return f"golden can't be written: {path}\nthere is no permission to write in {folder}"


def differs(path: str, old: bytes, new: bytes, policy: Policy, *, in_full: bool) -> str:
    """The first change in a line; the others are counted, and shown with it where all was asked for."""
    from pytest_workrail.golden import causes, encoding, show  # here, because most goldens fit

    before = encoding.loads(old)
    advice = f"look at it with: workrail-test golden diff {path}" if policy.may_write else _IN_CI
    if isinstance(before, Err):
        return f"golden can't be used: {path} is {before.error}\n{advice}"
    found = list(causes.Causes(before.value, encoding.loads(new).value))
    more = f", and {counted(len(found) - 1, 'more change')}" if len(found) > 1 else ""
    what = f"golden differs: {causes.headline(found[0].difference)}{more}"
    shown: list[str] = []
    if in_full:
        for cause in found:
            shown.append(f"  {causes.headline(cause.difference)}")
            shown += [f"      {line}" for line in show.change_lines(cause.difference, Style(False), None)]
    return "\n".join([what, f"in {path}", *shown, advice])
