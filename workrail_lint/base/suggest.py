"""Did you mean …? The nearest known name to one that is not known."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from workrail_lint.base.wording import quoted

# Among more names than this only those one edit away are looked for, and longer names are never compared: a document
# may hold thousands of either, and each of its mistakes asks for a suggestion.
_MANY = 100
_LONG = 200


def nearest(name: str, known: Iterable[str], limit: int = 2, many: int = _MANY) -> str | None:
    """Return the only known name within `limit` edits (or the closest one); None when nothing is near.

    A tie between two different names is no suggestion: guessing wrong is worse than saying nothing.
    """
    if len(name) > _LONG:
        return None
    candidates = list(known)
    if len(candidates) > many:
        candidates, limit = sorted(_one_edit_away(name).intersection(candidates)), 1
    best: list[str] = []
    best_distance = limit + 1
    for candidate in candidates:
        if abs(len(candidate) - len(name)) > limit or candidate == name:
            continue
        distance = edit_distance(name, candidate, limit)
        if distance == max(len(name), len(candidate)):
            continue  # short names with nothing in common
        if distance < best_distance:
            best, best_distance = [candidate], distance
        elif distance == best_distance and distance <= limit and candidate not in best:
            best.append(candidate)
            if distance == 1:
                return None
    return best[0] if len(best) == 1 else None


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."


def _one_edit_away(name: str) -> set[str]:
    """Return everything that one edit makes of a name, with the letters ids are made of: looking those up beats
    comparing.
    """
    letters = {*_LETTERS, *name}
    result: set[str] = set()
    for at in range(len(name) + 1):
        start, end = name[:at], name[at:]
        result.update(start + letter + end for letter in letters)
        if end:
            result.add(start + end[1:])
            result.update(start + letter + end[1:] for letter in letters)
        if len(end) > 1:
            result.add(start + end[1] + end[0] + end[2:])
    return result


def did_you_mean(suggestion: str | None) -> str:
    """Return what a message ends with that suggests a name; nothing without a suggestion."""
    return "" if suggestion is None else f"; did you mean {quoted(suggestion)}?"


def hint(name: str, known: Collection[str], what: str = "known") -> str:
    """Return what a message about an unknown name ends with: the name that was meant, or all there are."""
    return did_you_mean(nearest(name, known)) or f" ({what}: {', '.join(known)})"


def nearest_id(name: str, known: Iterable[str]) -> str | None:
    """Return the nearest dotted or hyphenated id, which may also only lack or mistake its prefix, or lack its end."""
    candidates = list(known)
    suggestion = nearest(name, candidates, max(2, len(name) // 8))
    if suggestion is not None or len(candidates) > _MANY:
        return suggestion
    tail = _tail(name)
    similar = [candidate for candidate in candidates if _tail(candidate) == tail]
    similar = similar or [candidate for candidate in candidates if _begins_with(candidate, name)]
    return similar[0] if len(similar) == 1 else None


def _begins_with(whole: str, part: str) -> bool:
    """Return whether an id begins with most of another's words."""
    return whole.startswith(part) and whole[len(part) : len(part) + 1] in ("-", "_") and len(part) >= 0.6 * len(whole)


def _tail(name: str) -> str:
    return name.rpartition(".")[2].replace("_", "-").lower()


def edit_distance(a: str, b: str, limit: int) -> int:
    """Return edits (insert, delete, replace, swap of neighbours) from a to b; `limit` + 1 when there are more."""
    start = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        start += 1
    end_a, end_b = len(a), len(b)
    while end_a > start and end_b > start and a[end_a - 1] == b[end_b - 1]:
        end_a -= 1
        end_b -= 1
    # What both begin or end with needs no edit.
    a, b = a[start:end_a], b[start:end_b]
    if not a or not b or abs(len(a) - len(b)) > limit:
        return min(max(len(a), len(b)), limit + 1)
    before_last: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = last[j - 1] + (x != y)
            if last[j] < cost:
                cost = last[j] + 1
            if row[j - 1] < cost:
                cost = row[j - 1] + 1
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y and before_last[j - 2] < cost:
                cost = before_last[j - 2] + 1
            row.append(cost)
        if min(row) > limit:
            return limit + 1
        before_last, last = last, row
    return min(last[-1], limit + 1)
