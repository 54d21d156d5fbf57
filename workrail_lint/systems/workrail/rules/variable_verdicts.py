"""Judgements about variables: whether something sets them, early enough, and what reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from itertools import islice

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import counted, listed, quoted
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.analysis.analysis import Analysis
from workrail_lint.systems.workrail.analysis.definitions_and_uses import (
    CERTAIN,
    FOREIGN,
    MENTIONED,
    UNDELIVERED,
    Definition,
    Mention,
    Use,
)
from workrail_lint.systems.workrail.analysis.domains import BOOLEAN, LIST
from workrail_lint.systems.workrail.analysis.logic import (
    BOUNDS,
    ONLY_UNSET,
    UNSET,
    Near,
    impossible,
    nearest_name,
)
from workrail_lint.systems.workrail.analysis.order import covered, may_precede, must_precede, surely_precedes
from workrail_lint.systems.workrail.condition_logic import normal_text
from workrail_lint.systems.workrail.model.workflow import Condition
from workrail_lint.systems.workrail.rules.verdicts import Judge, consequence, in_words, value_text

NEVER_SET, TOO_LATE, SAME_STEP = "variable-never-set", "variable-set-too-late", "variable-set-by-same-step"
MAYBE_UNSET, OUTSIDE_LOOP, MEMBER = "variable-maybe-unset", "loop-variable-outside-loop", "item-member-unknown"
GATE_SELF, COUNTER = "gate-condition-self", "counter-not-initialized"
# The run stops where these find nothing.
_STOPS = ("items", "count")
_NUMBER_WORDS = frozenset(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"))
_PART = Pattern(r"[A-Z]?[a-z]{4,}|[A-Z]{4,}")


def _first_word(name: str) -> str:
    """Return what a name begins with, without a plural ending; "" if that is short."""
    match = _PART.match(name)
    return match[0].lower().removesuffix("s") if match is not None else ""


# Where a value is used as it is, and not only compared.
_SHOWN = ("token", *_STOPS)
_FIRST_SETTERS = 3
_MOVE = "move the step or the use"
# Whether so many steps together surely set a variable would take longer to prove than the whole check.
_MANY_SETTERS = 20
# Old names of loop variables; another rule reports them.
OLD_LOOP_NAMES = frozenset(("_iteration", "iteration", "_item", "item", "_index", "index"))


def judge_variables(judge: Judge) -> None:
    """Judge every variable that is read, in the order of names."""
    for name, uses in judge.plain_uses.items():
        relevant = [use for use in uses if use.step not in judge.dead] if judge.dead else uses
        if relevant:
            _Variable(judge, name, relevant).judge()


class _Variable:
    """One variable and all its uses."""

    def __init__(self, judge: Judge, name: str, uses: list[Use]) -> None:
        self.judge_ = judge
        self.analysis: Analysis = judge.analysis
        self.name = name
        self.uses = uses

    @cached_property
    def definitions(self) -> list[Definition]:
        return self.analysis.definitions(self.name)

    @cached_property
    def setters(self) -> list[Definition]:
        return self.analysis.setters(self.name)

    @property
    def mentions(self) -> list[Mention]:
        return self.analysis.mentions(self.name)

    def judge(self) -> None:
        if self.analysis.is_given(self.name):
            return
        uses = self.uses
        if self.analysis.is_of_loop(self.name):
            uses = [use for use in uses if not self.analysis.in_scope(self.name, use)]
        if not self.analysis.is_set(self.name):
            self._unset(uses)
            return
        self._gates(uses)
        for use in self._distinct([use for use in uses if use.kind not in ("gate", "criteria", "mapping", "loop")]):
            self._order(use)

    # Nothing sets it

    def _unset(self, uses: list[Use]) -> None:
        loops = [definition for definition in self.definitions if definition.confidence == CERTAIN]
        if loops:
            for use in self._distinct(uses):
                self._outside_loop(use, loops)
            return
        conditions = [use for use in uses if use.leaf is not None and use.origin.via not in FOREIGN]
        others = [use for use in uses if use.leaf is None and not self._has_other_rule(use)]
        more = ""
        if len(conditions) > 1:
            more = (
                f" ({counted(len(conditions) - 1, 'other condition')} {'reads' if len(conditions) == 2 else 'read'} it)"
            )
        if conditions:
            self.judge_.unset.add(self.name)
            self.judge_.judged.update(use.pointer for use in conditions)
            self._never_set(conditions[0], more)
        for use in self._distinct(others):
            self._never_set(use, "")

    def _has_other_rule(self, use: Use) -> bool:
        return use.kind == "token" and self.name in OLD_LOOP_NAMES and self.analysis.steps[use.step].loop is not None

    def _never_set(self, use: Use, more: str) -> None:
        meant = self._meant(use)
        undelivered = any(definition.confidence == UNDELIVERED for definition in self.definitions)
        mentioned = self._is_mentioned(use)
        if meant is None and not self.analysis.is_complete:
            return  # a workflow that was not found may set it
        hint = f"; did you mean {quoted(meant.name)}?" if meant else f"; {self._remedy(use)}"
        severity = Severity.WARNING
        if use.kind in _STOPS or (meant is not None and meant.close):
            severity = Severity.ERROR
        if undelivered or mentioned or (self.analysis.is_routine and meant is None):
            # An agent may set what a prompt only names, but not where it sets another name that nothing reads.
            is_renamed = meant is not None and meant.name not in self.analysis.by_name
            severity = Severity.WARNING if is_renamed and not undelivered else Severity.INFO
        elif use.origin.via in FOREIGN:
            severity = Severity.WARNING
        name = quoted(self.name)
        if undelivered:
            what = f"only guidance asks for {name}, and the engine never sends guidance to the agent"
            hint = hint if meant else "; ask for it in a prompt"
        elif mentioned:
            what = f"no prompt asks for {name}"
        else:
            what = f"nothing sets {name}"
        message = f"{what}{self._effect(use)}{hint}{more}"
        self.judge_.report(NEVER_SET, severity, use.pointer, message, unset=self.name)

    def _is_mentioned(self, use: Use) -> bool:
        """Return whether a text that the agent may have read by then names the variable, though it does not set it."""
        mentioned = [each.step for each in self.definitions if each.confidence == MENTIONED]
        if use.leaf is None or use.kind == "loop":
            return bool(mentioned or self.mentions)
        here = self.analysis.steps[use.step]
        if use.kind == "runCondition" and here.loop is None:
            mentioned = [index for index in mentioned if index != use.step]  # a skipped step is not read
        return bool(mentioned) or any(
            index is None
            or self.analysis.steps[index].position < here.position
            or (index == use.step and use.kind != "runCondition")
            or (here.loop is not None and self.analysis.steps[index].loop == here.loop)
            for index in (mention.step for mention in self.mentions)
        )

    def _remedy(self, use: Use) -> str:
        if use.kind == "count" and self.name.lower() in _NUMBER_WORDS:
            return "write the number in digits, without quotes"
        if (renamed := self._renamed(use)) is not None:
            return f"did you mean {quoted(renamed)}, which is set earlier and never used?"
        declared = f'declare it in `preconditions`: "Inputs: `{self.name}`"'
        if self.analysis.is_routine:
            return f"if the caller sets it, {declared}"
        return f"ask for it in an earlier prompt, or, if the caller sets it, {declared}"

    def _renamed(self, use: Use) -> str | None:
        """Return the only variable that is set before the use, is never used, and fits it by value or by name."""
        analysis = self.analysis
        value = normal_text(js.text(use.leaf.equals)) if use.leaf is not None and "equals" in use.leaf else None
        own = _first_word(self.name)
        fitting: list[str] = []
        for name in analysis.all_names:
            if name in analysis.by_name or not analysis.is_set(name) or name.startswith("metrics_"):
                continue
            domain = analysis.domain(name) if value is not None else None
            values = domain.values if domain is not None and domain.kind != BOOLEAN else ()
            fits = value in [normal_text(js.text(each)) for each in values] or own == _first_word(name) != ""
            if fits and any(may_precede(analysis, definition, use) for definition in analysis.each_setter(name)):
                fitting.append(name)
        return fitting[0] if len(fitting) == 1 else None

    def _effect(self, use: Use) -> str:
        match use.kind:
            case "items" | "count":
                return ", so the run stops here"
            case "token":
                return f", so the agent will see {self._unset_text(use)}"
            case "mapping":
                return ", so the delegated workflow gets no value"
            case kind:
                decision = self.judge_.decisions.get(use.root)
                holds = None if decision is None else self.judge_.verdict_when_unset(decision, self.name)
                return "" if holds is None else f", so {consequence(self.judge_, kind, use.step, holds)}"

    def _unset_text(self, use: Use) -> str:
        path = f"{self.name}.{use.path}" if use.path else self.name
        return f'"[unset: {path}]"'

    def _meant(self, use: Use) -> Near | None:
        """Return a name that is set and visible at the use, and near this one."""
        return nearest_name(self.name, self._candidates(use))

    def _candidates(self, use: Use) -> Iterable[str]:
        loop = self.analysis.steps[use.step].loop
        facts = self.analysis.loops.get(loop) if loop is not None else None
        if facts is not None and use.kind not in _STOPS:
            yield from facts.variables
        for name in self.judge_.known_names.near(self.name):
            if any(may_precede(self.analysis, definition, use) for definition in self.analysis.each_setter(name)):
                yield name

    def _outside_loop(self, use: Use, loops: list[Definition]) -> None:
        if self._has_other_rule(use):
            return
        step = loops[0].step
        loop = self.analysis.steps[step].id if step is not None else ""
        effect = f"; the agent will see {self._unset_text(use)}" if use.kind == "token" else "; it is unset here"
        if use.leaf is not None:
            self.judge_.unset.add(self.name)
            self.judge_.judged.add(use.pointer)
        self.judge_.report(
            OUTSIDE_LOOP,
            Severity.WARNING,
            use.pointer,
            f"{quoted(self.name)} exists only inside loop {quoted(loop)}{effect}",
        )

    # Set, but when?

    def _gates(self, uses: list[Use]) -> None:
        for use in uses:
            if use.kind == "gate" and self.analysis.steps[use.step].kind != "loop":
                if any(
                    definition.step != use.step and may_precede(self.analysis, definition, use)
                    for definition in self.analysis.each_setter(self.name)
                ):
                    continue
                own = any(definition.step == use.step for definition in self.setters)
                if own and not self._is_mentioned_before(use):
                    self.judge_.gate_names.setdefault(use.root, []).append(use)

    def _is_mentioned_before(self, use: Use, *, surely: bool = False) -> bool:
        """Return whether an earlier step mentions the variable without setting it; `surely`: one that always runs."""
        here = self.analysis.steps[use.step]
        named = [
            *((mention.step, None) for mention in self.mentions),
            *(
                (definition.step, definition.when)
                for definition in self.definitions
                if definition.confidence in (MENTIONED, UNDELIVERED)
            ),
        ]
        for index, when in named:
            if index is None:
                continue
            step = self.analysis.steps[index]
            if step.position < here.position and not (surely and (step.conditions or step.loop or when)):
                return True
        return False

    def _order(self, use: Use) -> None:
        if use.pointer in self.judge_.judged or self._is_in_time(use):
            return
        earlier = self._earlier(use)
        if earlier:
            if use.kind in _SHOWN:
                self._maybe_unset(use, earlier)
            return
        if use.origin.via in FOREIGN and use.leaf is not None:
            return
        own = use.step in self._steps
        later = len(self._steps) > own
        if own and (not later or use.kind != "runCondition"):
            if use.kind in ("token", "fragment", "runCondition"):
                self.judge_.judged.add(use.pointer)
                self.judge_.report(SAME_STEP, Severity.WARNING, use.pointer, self._same_step(use))
        elif not self._is_mentioned_before(use):
            self.judge_.judged.add(use.pointer)
            self._too_late(
                use, next(definition for definition in self._by_position if not later or definition.step != use.step)
            )

    def _is_in_time(self, use: Use) -> bool:
        """Return whether one of the first setters is early enough, as is nearly always so."""
        analysis = self.analysis
        for definition in islice(analysis.each_setter(self.name), _FIRST_SETTERS):
            if may_precede(analysis, definition, use):
                if use.kind not in _SHOWN or definition.step is None:
                    return True
                if not analysis.steps[definition.step].conditions and surely_precedes(analysis, definition, use):
                    return True
        return False

    def _earlier(self, use: Use) -> list[Definition]:
        """Return the definitions that may have happened at a use, the first of them where there are many."""
        here = self.analysis.steps[use.step]
        if here.loop is None and use.kind != "loop" and self._position(self._by_position[0]) > here.position:
            return []
        earlier = (definition for definition in self.setters if may_precede(self.analysis, definition, use))
        return list(islice(earlier, _MANY_SETTERS + 1))

    def _position(self, definition: Definition) -> tuple[int, ...]:
        return () if definition.step is None else self.analysis.steps[definition.step].position

    @cached_property
    def _by_position(self) -> list[Definition]:
        return sorted(self.setters, key=self._position)

    @cached_property
    def _steps(self) -> set[int | None]:
        return {definition.step for definition in self.setters}

    def _same_step(self, use: Use) -> str:
        name = quoted(self.name)
        match use.kind:
            case "fragment":
                decision = self.judge_.decisions.get(use.root)
                holds = None if decision is None else self.judge_.verdict_when_unset(decision, self.name)
                effect = (
                    "this fragment is evaluated too early"
                    if holds is None
                    else consequence(self.judge_, "fragment", use.step, holds)
                )
                return f"{effect}: the prompt is built before the step sets {name}. Move it to the next step"
            case "token":
                return (
                    f"the agent will see {self._unset_text(use)}: the prompt is built before the step sets {name}. "
                    "Name the variable without braces, or use it in the next step"
                )
            case _:
                return f"this step runs only when {name} is set, and only this step sets it; set it in an earlier step"

    def _too_late(self, use: Use, first: Definition) -> None:
        setting = self.analysis.steps[first.step or 0]
        setter = quoted(setting.id)
        severity = Severity.ERROR if use.kind in _STOPS else Severity.WARNING
        here = self.analysis.steps[use.step]
        if use.step in self._steps:
            message = f"{quoted(self.name)} is set only by this step and by step {setter}, which runs later"
        elif setting.loop == here.id:
            message = f"{quoted(self.name)} is first set by step {setter} of the loop's own body, which runs later"
        else:
            message = f"{quoted(self.name)} is first set by step {setter}, which runs later"
        # A loop can't be moved behind its own body, nor a step behind itself.
        is_own = use.step in self._steps or setting.loop in (here.id, here.loop or here.id)
        remedy = f"set it before the {'loop' if here.kind == 'loop' else 'step'}" if is_own else _MOVE
        if use.kind == "runCondition" and here.loop is None:
            decision = self.judge_.decisions.get(use.root)
            holds = None if decision is None else self.judge_.verdict_when_unset(decision, self.name)
            if holds is False:
                message += (
                    f", so {consequence(self.judge_, use.kind, use.step, False)}"
                    if is_own
                    else f", so this step runs out of order, after {setter}"
                )
        elif use.kind == "token":
            message += f", so the agent will see {self._unset_text(use)}"
        elif use.kind in _STOPS:
            message += ", so the run stops here"
        self.judge_.report(TOO_LATE, severity, use.pointer, f"{message}; {remedy}")

    def _maybe_unset(self, use: Use, earlier: list[Definition]) -> None:
        if len(earlier) > _MANY_SETTERS:
            return
        if any(surely_precedes(self.analysis, definition, use) for definition in earlier):
            return
        if covered(self.analysis, earlier, use) or self._is_mentioned_before(use, surely=True):
            return
        here = self.analysis.steps[use.step]
        first = earlier[0]
        setter = self.analysis.steps[first.step or 0]
        name, step = quoted(self.name), quoted(setter.id)
        tail = f"; the agent will see {self._unset_text(use)}" if use.kind == "token" else "; then the run stops here"
        if first.step == use.step:
            message = f"{name} is set only by this step, so the first round of the loop has no value"
        elif setter.position >= here.position:
            message = f"{name} is set only by step {step}, which runs later in the round: the first round has no value"
        elif first.when is not None:
            message = f"{name} is set only by a fragment of step {step}, which shows only when {in_words(first.when)}"
        elif setter.loop is not None and setter.loop != here.loop and not setter.surely_entered:
            message = f"{name} is set only by step {step} in loop {quoted(setter.loop)}, which may run zero times"
        else:
            when = self._skipped(earlier, use, setter.conditions)
            message = f"{name} is set only by step {step}, which is skipped when {when}"
        severity = Severity.INFO if self._is_guarded(use) or self.analysis.is_routine else Severity.WARNING
        self.judge_.report(MAYBE_UNSET, severity, use.pointer, message + tail)

    def _skipped(self, earlier: list[Definition], use: Use, conditions: tuple[Condition, ...]) -> str:
        answers = (must_precede(self.analysis, definition, use) for definition in earlier)
        assignment = next((answer.assignment for answer in answers if answer and answer.assignment), None)
        if assignment:
            return " and ".join(
                f"{name} is unset" if value is UNSET else f"{name} is {value_text(value)}"
                for name, value in assignment.items()
                if name != self.name or len(assignment) == 1
            )
        return f"not ({in_words(conditions[0] if conditions else None)})"

    def _is_guarded(self, use: Use) -> bool:
        """Return whether the text itself says what to do when the variable is unset."""
        if any(mention.pointer == use.pointer and mention.role == "condition" for mention in self.mentions):
            return True
        guard = re.compile(r"\b(?:if|when|unless)\b[^.\n]{0,80}\{\{" + re.escape(self.name), re.IGNORECASE)
        return guard.search(use.text) is not None

    def _distinct(self, uses: list[Use]) -> list[Use]:
        """Return the first use in any condition, and one in each other place."""
        distinct: dict[str, Use] = {}
        in_conditions: set[str] = set()
        for use in uses:
            if use.leaf is not None:
                key = use.kind
                if key in in_conditions:
                    continue
                in_conditions.add(key)
            distinct.setdefault(use.pointer, use)
        return list(distinct.values())


def judge_gates(judge: Judge) -> None:
    """Report each confirmation that reads what its own step sets."""
    for root, uses in judge.gate_names.items():
        first = uses[0]
        names = listed(dict.fromkeys(quoted(use.name) for use in uses))
        pronoun = names
        unset = {use.name: ONLY_UNSET for use in uses}
        never = impossible([judge.analysis.node(judge.decisions[root].condition)], (), unset)
        if judge.analysis.steps[first.step].loop is not None:
            effect = "sees the value of the previous round"
        elif never:
            effect = "never triggers"
        else:
            effect = f"can't depend on {names}"
            pronoun = "it" if len(unset) == 1 else "them"
        judge.report(
            GATE_SELF,
            Severity.WARNING,
            first.pointer,
            f"in an interactive run this confirmation {effect}: the engine evaluates it before the step runs, and only "
            f"this step sets {pronoun}. {_gate_remedy(judge, first, pronoun)}",
        )


_ACTS = Pattern(
    r"\b(?:appl(?:y|ies)|creat|delet|deploy|drop|execut|implement|merg|migrat|publish|push|releas|remov|roll|send|ship|"
    r"submit|writ)",
    re.IGNORECASE,
)


def _gate_remedy(judge: Judge, use: Use, names: str) -> str:
    """Return what to do about a confirmation; one on a step that acts must stay before the act."""
    analysis = judge.analysis
    step = analysis.steps[use.step]
    following = analysis.steps[use.step + 1] if use.step + 1 < len(analysis.steps) else None
    title = analysis.flow.nodes[use.step].model.title
    if following is None or following.loop != step.loop or _ACTS.search(title) or _ACTS.search(step.id):
        return f"Set {names} in an earlier step"
    return "Move it to the next step"


_SHAPE = Pattern(
    r"[^{}\n.;]{0,60}\{[^{}\n]*\w\s*\}"
    r"|[^{}\n.;]{0,40}\bobjects?,? (?:each )?(?:with|having|containing) `\w+`(?:,? `\w+`)*,? and `\w+`"
)


def judge_items(judge: Judge) -> None:
    """Report members of loop items that the producer of the list does not name."""
    analysis = judge.analysis
    done: set[tuple[str, str]] = set()
    if not any(facts.items for facts in analysis.loops.values()):
        return
    for use in analysis.uses:
        loop = analysis.steps[use.step].loop
        facts = analysis.loops.get(loop) if loop is not None and use.path else None
        if facts is None or facts.variables.get(use.name) != "item" or facts.items is None or judge.is_dead(use):
            continue
        members = list(dict.fromkeys(_members(analysis, facts.items)))
        member = use.path.partition(".")[0]
        if not members or member in members or (use.pointer, member) in done or use.origin.via in FOREIGN:
            continue
        done.add((use.pointer, member))
        meant = nearest_name(member, members)
        hint = f"; did you mean {quoted(meant.name)}?" if meant else f", but no {quoted(member)}"
        judge.report(
            MEMBER,
            Severity.WARNING if meant or _are_listed(analysis, facts.items) else Severity.INFO,
            use.pointer,
            f"items of {quoted(facts.items)} have {', '.join(members[:12])}{hint}",
        )


def _are_listed(analysis: Analysis, items: str) -> bool:
    """Return whether a prompt shows the items as `{name, size}`, or as objects with `name` and `size`."""
    lists = [statement for statement in analysis.statements(items) if statement.kind == LIST]
    shapes = [_SHAPE.match(statement.text, statement.span[1]) for statement in lists]
    return bool(shapes) and all(shapes)


def _members(analysis: Analysis, items: str) -> Iterable[str]:
    for statement in analysis.statements(items):
        if statement.kind == LIST:
            yield from statement.values


_COUNTS_BEFORE = Pattern(
    r"\b(?:increment|increase|decrement|decrease|bump|add (?:1|one) to|subtract (?:1|one) from|count up)"
    r"(?: the)?(?: counter| count| variable| context variable)*[\s`'\"*]*$",
    re.IGNORECASE,
)
_COUNTS_AFTER = Pattern(r"[`'\"*]*\s*(?:\+=|-=|\+\+|=\s*`?(\w+)`?\s*[+-]\s*\d)")


_EFFECT_OF_UNSET = ", and comparisons with an unset variable are false"


def judge_counters(judge: Judge) -> None:
    """Report variables that are only counted up or down and never get a first value."""
    analysis = judge.analysis
    silent = " ".join(verdict.message for verdict in judge.verdicts.get("loop-never-entered", ()))
    for name, uses in judge.plain_uses.items():
        compared = [
            use for use in uses if use.kind == "token" or (use.leaf is not None and not BOUNDS.isdisjoint(use.leaf.raw))
        ]
        if not compared or name in judge.unset or analysis.is_given(name) or analysis.is_of_loop(name):
            continue
        setters = analysis.setters(name)
        if not setters or quoted(name) in silent or compared[0].pointer in judge.judged:
            continue
        if any(each.pointer == compared[0].pointer for each in judge.verdicts.get(MAYBE_UNSET, ())):
            continue  # a start value mends both
        if all(map(is_counting, setters)) and len(setters) == len(analysis.definitions(name)):
            judge.report(
                COUNTER,
                Severity.WARNING,
                compared[0].pointer,
                f"{quoted(name)} is only counted and never gets a first value"
                f"{_EFFECT_OF_UNSET if compared[0].leaf is not None else ''}; ask for a start value in an earlier step",
            )


def is_counting(definition: Definition) -> bool:
    start, end = definition.span
    text = definition.text
    return bool(_COUNTS_BEFORE.search(text[max(0, start - 60) : start]) or _COUNTS_AFTER.match(text, end))
