"""The search: conditions that are to come out in a certain way, over the classes of values of their variables.

`possible` comes with values, as few of them changed as can be. `impossible` is a proof: all classes of all variables
were tried. Where a class may be without a representative (`matches`) or the search was cut off, it is `unknown`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from workrail_lint.base import js
from workrail_lint.systems.workrail.condition_logic import FALSE_WORDS, TRUE_WORDS
from workrail_lint.systems.workrail.model.workflow import Condition
from workrail_lint.systems.workrail.solver import Wish
from workrail_lint.systems.workrail.solver.candidates import (
    TEXTUAL,
    candidates,
    distinct_texts,
    is_numeric,
    is_open,
    is_open_for_numbers,
)
from workrail_lint.systems.workrail.solver.expression import (
    ALWAYS,
    ANYTHING,
    IMPOSSIBLE,
    POSSIBLE,
    UNKNOWN,
    UNSET,
    Answer,
    Comparison,
    Expression,
    Unset,
    Values,
    comparisons_in,
    read,
)

MAX_TRIES = 50_000
_EMPTY: Mapping[str, Any] = {}

_Vector: TypeAlias = tuple[bool | None, ...]


class _Part(NamedTuple):
    """A part of the wishes that has to come out in one way."""

    expression: Expression
    wanted: bool


class Solver:
    """Answers questions about conditions that speak of the same variables.

    `conditions` are those of the whole workflow: values that only others compare with are the ones a reader knows.
    `limits` are what some variables may hold at most.
    """

    def __init__(self, conditions: Iterable[Condition | None] = (), limits: Mapping[str, Values] = _EMPTY) -> None:
        self._limits = limits
        self._known: dict[str, dict[Comparison, None]] = {}
        for comparison in comparisons_in(*conditions):
            self._known.setdefault(comparison.variable, {})[comparison] = None
        self._read: dict[int, tuple[Condition, Expression | None]] = {}
        self._options: dict[tuple[bool, tuple[Comparison, ...]], dict[_Vector, Any]] = {}

    def solve(
        self,
        wishes: Sequence[Wish],
        context: Mapping[str, Any] = _EMPTY,
        fixed: Mapping[str, Any] = _EMPTY,
        kept: Collection[str] = (),
    ) -> Answer:
        """Return the smallest change to the context after which every condition comes out as wanted.

        `fixed` lies on top of the context whatever is set in it; `kept` are variables that must stay as they are.
        """
        return self.decide(
            [(self._expression(condition), wanted) for condition, wanted in wishes], context, fixed, kept, self._limits
        )

    def is_possible(self, wishes: Sequence[Wish], fixed: Mapping[str, Any] = _EMPTY) -> bool:
        """Return whether nothing proves that it can't be."""
        return self.solve(wishes, fixed=fixed).verdict != IMPOSSIBLE

    def core(self, wishes: Sequence[Wish], fixed: Mapping[str, Any] = _EMPTY) -> list[Wish]:
        """Return some of the wishes that contradict one another by themselves, none of which can be left out."""
        kept = list(wishes)
        for wish in wishes:
            without = [each for each in kept if each is not wish]
            if self.solve(without, fixed=fixed).verdict == IMPOSSIBLE:
                kept = without
        return kept

    def classes(self, wishes: Sequence[Wish]) -> dict[str, list[Any]]:
        """Return for each variable of some conditions one value for each way in which they can tell values apart."""
        comparisons: dict[str, dict[Comparison, None]] = {}
        for condition, _ in wishes:
            expression = self._expression(condition)
            for leaf in expression.leaves if expression is not None else ():
                comparisons.setdefault(leaf.variable, {})[leaf] = None
        return {
            name: list(_Variable(name, tuple(leaves), UNSET, self._limits.get(name, ANYTHING)).options(self).values())
            for name, leaves in comparisons.items()
        }

    def _expression(self, condition: Condition | None) -> Expression | None:
        if condition is None:
            return ALWAYS
        # By the identity of the JSON, which all models of an IR share; the solver holds on to the condition.
        known = self._read.get(id(condition.raw))
        if known is None:
            known = self._read[id(condition.raw)] = (condition, read(condition))
        return known[1]

    def decide(
        self,
        wanted: Iterable[tuple[Expression | None, bool]],
        context: Mapping[str, Any] = _EMPTY,
        fixed: Mapping[str, Any] = _EMPTY,
        kept: Collection[str] = (),
        values: Mapping[str, Values] = _EMPTY,
    ) -> Answer:
        """Return the same for conditions that were read before; None is one that can't be judged."""
        parts: list[_Part] = []
        is_unsure = False
        for expression, truth in wanted:
            if expression is None:
                is_unsure = True  # it proves nothing, but must not hide a contradiction of the others
            else:
                parts += _parts(expression, truth)
        leaves: dict[str, dict[Comparison, None]] = {}
        for part in parts:
            for leaf in part.expression.leaves:
                leaves.setdefault(leaf.variable, {})[leaf] = None
        variables = {}
        for name, compared in leaves.items():
            current = fixed[name] if name in fixed else context.get(name, UNSET)
            is_given = name in fixed or name in kept
            allowed = _only(current) if is_given else values.get(name, ANYTHING)
            variables[name] = _Variable(name, tuple(compared), current, allowed)
        answer = _Question(self, parts, variables).answer(fixed)
        return Answer(UNKNOWN) if is_unsure and answer.verdict == POSSIBLE else answer

    def vectors(self, name: str, leaves: tuple[Comparison, ...], *, may_be_unset: bool) -> dict[_Vector, Any]:
        """Return a value for each list of answers that these comparisons can give, the plainest there is."""
        known = self._options.get((may_be_unset, leaves))
        if known is None:
            known = self._options[may_be_unset, leaves] = {}
            for value in candidates((*leaves, *(each for each in self._known.get(name, ()) if each not in leaves))):
                if value is UNSET and not may_be_unset:
                    continue  # some other value of its class may do
                known.setdefault(_vector(leaves, value), value)
                if len(known) == 2 and len(leaves) == 1 and None not in next(iter(known)):
                    break
        return known


def _only(value: Any) -> Values:
    return Values((), True, True) if value is UNSET else Values((value,), True, False)


def _vector(leaves: Iterable[Comparison], value: Any) -> _Vector:
    held = None if isinstance(value, Unset) else value
    return tuple([leaf.holds(held) for leaf in leaves])


def _parts(expression: Expression, wanted: bool) -> list[_Part]:
    """Return what has to come out one by one: the members of an `and` that is to hold, of an `or` that is not."""
    if not expression.is_sound:
        return [_Part(expression, wanted)]
    if expression.logic == "not":
        return _parts(expression.members[0], not wanted)
    if expression.logic == ("and" if wanted else "or"):
        return [part for member in expression.members for part in _parts(member, wanted)]
    return [_Part(expression, wanted)]


class _Variable(NamedTuple):
    """A variable of a question: what is asked of it, what it holds now, and what it may hold."""

    name: str
    leaves: tuple[Comparison, ...]
    current: Any
    allowed: Values

    def options(self, solver: Solver, *, exhaustive: bool = False) -> dict[_Vector, Any]:
        """Return the classes of its values, its current one first.

        With `exhaustive`, those that are hard to read as well.
        """
        result: dict[_Vector, Any] = {}
        if self.current is not UNSET or self.allowed.may_be_unset:
            result[_vector(self.leaves, self.current)] = self.current
        for value in self.allowed.values:
            result.setdefault(_vector(self.leaves, value), value)
        if self.allowed.closed:
            if self.allowed.may_be_unset:
                result.setdefault(_vector(self.leaves, UNSET), UNSET)
            return result
        may_be_unset = self.allowed.may_be_unset
        for vector, value in solver.vectors(self.name, self.leaves, may_be_unset=may_be_unset).items():
            result.setdefault(vector, value)
        if exhaustive:
            for value in self._all_texts():
                result.setdefault(_vector(self.leaves, value), value)
        return result

    def _all_texts(self) -> Iterable[Any]:
        texts = distinct_texts(self.parts, self._named())
        for text in texts or ():
            yield text
            yield [text]

    @property
    def parts(self) -> list[str]:
        return [js.text(each.operand) for each in self.leaves if each.operator in TEXTUAL and each.operand is not None]

    def _named(self) -> list[str]:
        """Return the strings that are told apart from all others."""
        result: list[str] = []
        for leaf in self.leaves:
            for operand in leaf.operand if leaf.operator == "in" else [leaf.operand]:
                if isinstance(operand, str) and leaf.operator in ("equals", "not_equals", "in"):
                    result.append(operand)
                elif isinstance(operand, bool):
                    result += [*TRUE_WORDS, *FALSE_WORDS]
        return result

    @property
    def open_leaves(self) -> list[int]:
        """The comparisons that can have answers for which no value is known."""
        if self.allowed.closed:
            return []
        result = [at for at, leaf in enumerate(self.leaves) if is_open(leaf, self.leaves)]
        # Too many classes of strings for all of them to be listed.
        if self.parts and distinct_texts(self.parts, self._named()) is None:
            result = [at for at, leaf in enumerate(self.leaves) if at in result or leaf.operator in TEXTUAL]
        return result

    def relaxed(self, solver: Solver, options: Mapping[_Vector, Any], loose: Collection[int]) -> dict[_Vector, Any]:
        """Return the options, where comparisons say both for values of which not every class is known.

        A part of a string is open for numbers and numerals alone: for all other strings every class is there.
        """
        if not loose:
            return dict(options)
        patterns = [at for at in loose if self.leaves[at].operator == "matches"]
        by_part = [at for at in loose if at not in patterns]
        of_numbers = [at for at in loose if is_open_for_numbers(self.leaves[at])]
        result: dict[_Vector, Any] = {}
        is_complete = by_part and distinct_texts(self.parts, self._named()) is not None
        for vector, value in options.items():
            blurred = patterns if is_complete else loose
            result.setdefault(tuple(None if at in blurred else truth for at, truth in enumerate(vector)), value)
        for value in candidates(self.leaves) if is_complete else ():
            if is_numeric(value):
                vector = _vector(self.leaves, value)
                blurred = loose if isinstance(value, str) else [at for at in loose if at in of_numbers]
                result.setdefault(tuple(None if at in blurred else truth for at, truth in enumerate(vector)), value)
        return result


def _same(one: Any, other: Any) -> bool:
    if one is UNSET or other is UNSET:
        return one is other
    return js.deep_equal(one, other)


class _Question:
    """One question: parts that have to come out, and the variables they speak of."""

    def __init__(self, solver: Solver, parts: list[_Part], variables: dict[str, _Variable]) -> None:
        self._solver = solver
        self._parts = parts
        self._variables = variables
        self._tries = 0

    def answer(self, fixed: Mapping[str, Any]) -> Answer:
        options = {name: each.options(self._solver) for name, each in self._variables.items()}
        values, is_cut = self._search(options)
        if values is None:
            searched = {name for name, each in self._variables.items() if each.parts and not each.allowed.closed}
            if searched:
                for name in searched:
                    options[name] = self._variables[name].options(self._solver, exhaustive=True)
                values, is_cut = self._search(options)
        if values is not None:
            change = {
                name: None if value is UNSET else value
                for name, value in values.items()
                if name not in fixed and not _same(value, self._variables[name].current)
            }
            return Answer(POSSIBLE, values, change)
        return Answer(UNKNOWN if is_cut or self._may_be(options) else IMPOSSIBLE)

    def _may_be(self, options: dict[str, dict[_Vector, Any]]) -> bool:
        """Return whether a solution could hide in a class without a representative.

        Then such a comparison says both.
        """
        loose = {name: each.open_leaves for name, each in self._variables.items()}
        if not any(loose.values()) and all(None not in vector for each in options.values() for vector in each):
            return False
        relaxed = {
            name: self._variables[name].relaxed(self._solver, each, loose[name]) for name, each in options.items()
        }
        values, is_cut = self._search(relaxed, tolerant=True)
        return values is not None or is_cut

    def _search(
        self, options: dict[str, dict[_Vector, Any]], *, tolerant: bool = False
    ) -> tuple[dict[str, Any] | None, bool]:
        """Return values for all variables, or none; and whether the search was given up."""
        values: dict[str, Any] = {}
        is_cut = False
        for parts, names in _components(self._parts, self._variables):
            group = _Group(parts, [self._variables[name] for name in names], options, tolerant)
            solved = group.solve()
            is_cut = is_cut or group.is_cut
            if solved is None:
                # One group that can't be solved decides, whatever became of the others.
                return None, group.is_cut
            values |= solved
        return {name: values[name] for name in self._variables}, is_cut


def _components(parts: Sequence[_Part], variables: Mapping[str, _Variable]) -> list[tuple[list[_Part], list[str]]]:
    """Return parts that share variables, together; each group can be solved by itself."""
    group_of: dict[str, int] = {}
    members: dict[int, list[str]] = {}
    for number, part in enumerate(parts):
        names = dict.fromkeys(leaf.variable for leaf in part.expression.leaves)
        joined = dict.fromkeys(group_of[name] for name in names if name in group_of)
        target = next(iter(joined), number)
        everyone = [name for group in joined for name in members.pop(group)]
        everyone += [name for name in names if name not in group_of]
        members[target] = everyone
        group_of |= dict.fromkeys(everyone, target)
    parts_of: dict[int, list[_Part]] = {}
    constant: list[_Part] = []
    for part in parts:
        first = next(iter(part.expression.leaves), None)
        if first is None:
            constant.append(part)
        else:
            parts_of.setdefault(group_of[first.variable], []).append(part)
    groups = [(parts_of[number], members[number]) for number in parts_of]
    return [(constant, []), *groups] if constant else groups


class _Group:
    """Backtracking over the variables of one group, those first that are asked about most."""

    def __init__(
        self,
        parts: list[_Part],
        variables: list[_Variable],
        options: Mapping[str, dict[_Vector, Any]],
        tolerant: bool,
    ) -> None:
        uses: dict[str, int] = {}
        for part in parts:
            for leaf in part.expression.leaves:
                uses[leaf.variable] = uses.get(leaf.variable, 0) + 1
        self._variables = sorted(variables, key=lambda each: -uses[each.name])
        self._parts = parts
        self._tolerant = tolerant
        self._of: dict[str, list[_Part]] = {each.name: [] for each in variables}
        for part in parts:
            for name in dict.fromkeys(leaf.variable for leaf in part.expression.leaves):
                self._of[name].append(part)
        self._options = {each.name: self._alone(each, options[each.name]) for each in variables}
        self._truths: dict[Comparison, bool | None] = {}
        self._values: dict[str, Any] = {}
        self._tries = 0
        self.is_cut = False

    def _alone(self, variable: _Variable, options: dict[_Vector, Any]) -> list[tuple[_Vector, Any, int]]:
        """Return the options that no part rejects which is about this variable alone."""
        alone = [
            part
            for part in self._of[variable.name]
            if all(leaf.variable == variable.name for leaf in part.expression.leaves)
        ]
        return [
            (vector, value, 0 if _same(value, variable.current) else 1)
            for vector, value in options.items()
            if all(self._fits(part, dict(zip(variable.leaves, vector, strict=True)), True) for part in alone)
        ]

    def solve(self) -> dict[str, Any] | None:
        if not self._variables:
            return {} if all(self._fits(part, {}, True) for part in self._parts) else None
        if not all(self._options.values()):
            return None
        result = self._run(len(self._variables))
        if result is None:
            return None
        for limit in range(self._changes(result)):
            fewer = self._run(limit)
            if fewer is not None:
                return fewer
        return result

    def _run(self, limit: int) -> dict[str, Any] | None:
        self._truths, self._values, self._tries = {}, {}, 0
        return dict(self._values) if self._assign(0, limit) else None

    def _changes(self, values: Mapping[str, Any]) -> int:
        return sum(not _same(values[each.name], each.current) for each in self._variables)

    def _assign(self, depth: int, limit: int) -> bool:
        if depth == len(self._variables):
            return True
        variable = self._variables[depth]
        is_last = depth + 1 == len(self._variables)
        for vector, value, cost in self._options[variable.name]:
            self._tries += 1
            if self._tries > MAX_TRIES:
                self.is_cut = True
                return False
            if cost > limit:
                continue
            self._truths.update(zip(variable.leaves, vector, strict=True))
            self._values[variable.name] = value
            parts = self._parts if is_last else self._of[variable.name]
            if all(self._fits(part, self._truths, is_last) for part in parts) and self._assign(depth + 1, limit - cost):
                return True
        for leaf in variable.leaves:
            self._truths.pop(leaf, None)
        self._values.pop(variable.name, None)
        return False

    def _fits(self, part: _Part, truths: dict[Comparison, bool | None], is_complete: bool) -> bool:
        """Return whether a part comes out as wanted, or still can."""
        expression, wanted = part
        if not expression.is_sound:
            if not is_complete:
                return True
            return self._tolerant or expression.evaluate(truths) is wanted
        value = expression.value(truths)
        if value is None:
            return self._tolerant or not is_complete or expression.evaluate(truths) is wanted
        return value is wanted
