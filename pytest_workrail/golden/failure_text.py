"""What a test says when its golden does not fit."""

from __future__ import annotations

from pytest_workrail.golden.modes import Policy
from workrail_lint.base.result import Err

_IN_CI = "goldens are not written in CI: run the test on your own machine, look at the change and commit it"


def missing(path: str, policy: Policy) -> str:
    """There is nothing to compare with."""
    how = "write it with: pytest --workrail-golden=new" if policy.may_write else _IN_CI
    return f"no golden yet: {path}\n{how}"


def unwritable(path: str, folder: str) -> str:
    """The golden may be written, but not there."""
    return f"golden can't be written: {path}\nthere is no permission to write in {folder}"


def differs(path: str, old: bytes, new: bytes, policy: Policy, *, in_full: bool) -> str:
    """The change: by field, then as text, then what to do about it."""
    return "\n".join([*change(path, old, new, in_full=in_full), "", *_advice(path, policy)])


def change(path: str, old: bytes, new: bytes, *, in_full: bool) -> list[str]:
    """What is different about a golden."""
    from pytest_workrail.golden import diff, encoding  # here, because most goldens fit

    before, after = encoding.loads(old), encoding.loads(new).value
    most_fields, most_lines = (None, None) if in_full else (20, 80)
    text = diff.text_diff(old, new, path, most_lines)
    if isinstance(before, Err):
        return [f"golden can't be used: {path} is {before.error}", "", *text]
    differences = diff.compare(before.value, after)
    return [f"golden differs: {path}", *(f"  {line}" for line in diff.described(differences, most_fields)), "", *text]


def _advice(path: str, policy: Policy) -> list[str]:
    if not policy.may_write:
        return [_IN_CI]
    return [
        f"if this is what you want: workrail-golden accept {path}",
        "or write all changes of passing tests: pytest --workrail-golden=update",
    ]
