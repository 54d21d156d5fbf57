"""PR, LP: prompts that direct the run: jumps, exits, rounds and approvals that the engine knows nothing about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.findings import Confidence, Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import LoopRule, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.delivered_text import Phrase, delivered
from workrail_lint.systems.workrail.rules.prompt_references import base_number, numbered_parts, own_numbers
from workrail_lint.systems.workrail.rules.prose import IN_PROMPTS, Search, excerpt, label, mentions
from workrail_lint.systems.workrail.rules.rule_needs import condition_facts, number_of_rounds

_PART = r"(?:steps?|phases?|stages?)"
_QUOTE = "[\"'`*]{0,3}"
_PARTS = ("step", "phase", "stage")  # one of them is in each of the words above
_BACK_TO = ("back to", "return to", "returning to", "jump", "restart", "straight to", "directly to", "ahead to")
_GO = (
    r"\b(?:go(?:ing)? back to|(?:go|proceed|move|continue) (?:straight|directly|ahead) to"
    r"|return(?:ing)? to|jump(?:ing)? (?:(?:ahead|back|directly|straight|forward) )?to"
    r"|loop(?:ing)? back to|restart(?:ing)? (?:from|at))\s+(?:the )?"
)
_JUMP = Search(
    _BACK_TO,
    rf"{_GO}(?:({_PART})\s+{_QUOTE}([a-z0-9](?:[\w.-]{{0,62}}\w)?){_QUOTE}"
    rf"|(?:an? )?((?:earlier|previous|prior|preceding|first|second|third|last|final) {_PART})\b(?! of\b))",
    before=12,
    also=_PARTS,
)
_JUMP_TO_ID = Search(
    _BACK_TO,
    rf"{_GO}(?=[a-z0-9_]*-|\**[\"'`]){_QUOTE}([a-z0-9]+(?:[-_][a-z0-9]+)*){_QUOTE}",
    before=12,
    also=("-", "'", '"', "`"),
)
_RANGE = r"\d+[a-z]?(?:\s?(?:-|–|to|through|,|and)\s?\d+[a-z]?)*"
_SKIP_TO = Search(
    ("skip",),
    r"\bskip(?:ping)? (?:(?:ahead|directly|straight|forward|back|down) )?to (?:the )?"
    rf"(?:({_PART}) {_QUOTE}([a-z0-9](?:[\w.-]{{0,62}}\w)?){_QUOTE}|`([a-z0-9]+(?:[-_][a-z0-9]+)*)`)",
    also=(" to step", " to phase", " to stage", " to the step", " to the phase", " to the stage", " to `", " to the `"),
)
_SKIP_NUMBERS = Search(
    ("skip",),
    rf"\bskip(?:ping)? (?:over )?(?:the )?({_PART}) {_QUOTE}({_RANGE})\b{_QUOTE}",
    also=_PARTS,
)
_SKIP_OTHERS = Search(
    ("skip",),
    r"\bskip(?:ping)? (?:((?:over )?(?:the |all (?:the |of the )?|any )?(?:next|remaining|following|other)"
    rf"(?: \w{{1,12}})? {_PART})\b|(the rest of (?:the|this) workflow)\b|(this (?:step|phase))\b)",
    also=("next ", "remaining ", "following ", "other ", "the rest of ", "this step", "this phase"),
)
_ARE_SKIPPED = Search(
    ("skipped",),
    rf"\b{_PART} ({_RANGE}) (?:are|is|will be|get|gets|should be) skipped\b",
    before=60,
    also=_PARTS,
)
_FIRST_NUMBER = Pattern(r"\d+[a-z]?")


class ProseJump(WorkflowRule):
    code = "PR038"
    name = "prose-jump"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM
    origin = "product"
    summary = "A prompt tells the agent to jump to another step, or to skip steps."
    why = (
        "The engine always continues with the next step in order whose `runCondition` holds. An agent that tries to "
        "jump gets that step anyway, or does two steps at once."
    )
    words = (IN_PROMPTS, *_BACK_TO, "skip")
    bad = {
        "steps": [
            {"id": "prepare", "prompt": "Prepare the data. If the input is empty, jump to step 'publish'."},
            {"id": "clean-up", "prompt": "Clean the data."},
            {"id": "publish", "prompt": "Publish the data."},
        ]
    }
    good = {
        "steps": [
            {"id": "prepare", "prompt": "Prepare the data. Set `inputEmpty` to true or false."},
            {"id": "clean-up", "prompt": "Clean the data.", "runCondition": {"var": "inputEmpty", "equals": False}},
            {"id": "publish", "prompt": "Publish the data."},
        ]
    }

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        seen: set[tuple[str, str]] = set()
        for phrase, target, is_skip in self._jumps(workflow):
            if phrase.hit.text.field == "outputRequired" or (phrase.pointer, target) in seen:
                continue
            if phrase.is_negated or (is_skip and self._is_conditional_by_structure(phrase, target, workflow)):
                continue
            seen.add((phrase.pointer, target))
            advice = (
                "give the steps to skip a `runCondition`"
                if is_skip
                else "skip steps with a `runCondition`, or repeat them in a loop"
            )
            report(
                phrase.pointer,
                f"{label(phrase.step)}: {excerpt(phrase.words)} has no effect, because the engine always continues "
                f"with the next step; {advice}",
            )

    def _jumps(self, workflow: WorkflowContext) -> Iterator[tuple[Phrase, str, bool]]:
        """Yield everything that reads like a jump, with its target, and whether it only skips."""
        texts = delivered(workflow)
        for phrase in texts.phrases(_JUMP):
            kind, target, relative = phrase.hit.match.groups()
            if relative is not None:
                yield phrase, relative, False
            elif self._is_step(kind, target, phrase, workflow):
                yield phrase, target, False
        for phrase in texts.phrases(_JUMP_TO_ID):
            bare = phrase.hit.match[1]
            if self._names_step(bare, workflow) and ("-" in bare or phrase.words.endswith(("'", '"', "`"))):
                yield phrase, bare, False
        for phrase in texts.phrases(_SKIP_TO):
            kind, target, code = phrase.hit.match.groups()
            if target is not None:
                if self._is_step(kind, target, phrase, workflow):
                    yield phrase, target, False
            elif code in workflow.step_ids:
                yield phrase, code, False
        for phrase in texts.phrases(_SKIP_OTHERS):
            yield phrase, next(filter(None, phrase.hit.match.groups())), True
        for phrase in texts.phrases(_SKIP_NUMBERS):
            kind, numbers = phrase.hit.match.groups()
            if self._is_step(kind, numbers, phrase, workflow):
                yield phrase, numbers, True
        for phrase in texts.phrases(_ARE_SKIPPED):
            if self._is_step(phrase.hit.match[0].split()[0], phrase.hit.match[1], phrase, workflow):
                yield phrase, phrase.hit.match[1], True
        subject = self._subject(workflow) if texts.has("skip") else ""
        # The pattern is compiled only if it may match.
        if subject and texts.begins("skip", tuple(f"{start}{subject}" for start in _SKIPS)):
            for phrase in texts.phrases(_skip_subject(subject)):
                yield phrase, subject, True

    @staticmethod
    def _names_step(ident: str, workflow: WorkflowContext) -> bool:
        """Return whether an id is that of a step, or like `phase-2` what the ids of some begin with."""
        if ident in workflow.step_ids:
            return True
        return ident[-1:].isdigit() and any(known.startswith(f"{ident}-") for known in workflow.step_ids)

    @staticmethod
    def _is_step(kind: str, target: str, phrase: Phrase, workflow: WorkflowContext) -> bool:
        """Return whether a step or phase of the workflow is meant: by id, or by a number that no list in it uses."""
        if not target[0].isdigit():
            # "go back to step through the code" does not name a step.
            return target in workflow.step_ids or phrase.words.endswith(("'", '"', "`"))
        number = _FIRST_NUMBER.compiled.match(target)
        first = number[0] if number else target
        if first in numbered_parts(workflow, kind.rstrip("s")):
            return True
        return base_number(first) not in own_numbers(phrase.step, kind.rstrip("s"))

    @staticmethod
    def _is_conditional_by_structure(phrase: Phrase, target: str, workflow: WorkflowContext) -> bool:
        """Return whether a condition skips what the prompt says is skipped."""
        if target.startswith("this") and phrase.step.is_conditional:
            return True
        read = condition_facts(workflow).by_variable
        return any(
            any(condition.role == "run" for condition in conditions) and mentions(phrase.step.prompt_text, name)
            for name, conditions in read.items()
        )

    @staticmethod
    def _subject(workflow: WorkflowContext) -> str:
        """Return what the workflow is about by its name, when that is more than one word."""
        plain = workflow.model.name.split("(")[0].lower().split()
        while plain and plain[-1] in _GENERIC:
            plain.pop()
        is_plain = all(word.replace("-", "").isalpha() for word in plain)
        return " ".join(plain) if 2 <= len(plain) <= 5 and is_plain else ""


_SKIPS = tuple(f"{verb} {which}" for verb in ("skip", "skipping") for which in ("", "the ", "this ", "all "))
_GENERIC = frozenset(("workflow", "routine", "task", "the", "a", "an", "with", "and", "of", "for", "to"))


@lru_cache(maxsize=4)
def _skip_subject(subject: str) -> Search:
    return Search(("skip",), rf"\bskip(?:ping)? (?:the |this |all )?{subject}\b")


# ------------------------------------------------------------------------------------------------- loops

_ENDINGS = frozenset(
    (
        *(f"{verb}{ending}" for verb in ("exit", "end", "stop", "terminate", "quit", "abort") for ending in ("", "s")),
        *("exiting", "leave", "leaves", "leaving", "ending", "stopping", "terminating", "quitting", "aborting"),
        *("break", "breaking"),
    )
)
_EXIT = Search(
    ("loop",),
    r"\b(?:(?:exit|end|abort)(?:ing|s)?|leaves?|leaving|stop(?:s|ping)?|terminat(?:es?|ing)|quit(?:s|ting)?"
    r"|break(?:ing)? out of)"
    r" (?:the |this )?(?:\w{1,20} )?loop\b"
    r"|\bthe loop (?:will |should |must |can |may )?(?:ends?|stops?|exits?|terminates?)\b",
    before=40,
    near=_ENDINGS,
)
# A counted loop ends automatically, and a prompt may say so.
_NATURAL_END = Pattern(
    r"\b(?:after|when|once|until) (?:all|every|each|the last|it has run|its|\d+|two|three|four|five)\b"
    r"|\bautomatically\b|\bby itself\b|\bon its own\b|\bat the end of the loop\b"
)
_DECIDED_BY = {"for": "its count", "forEach": "its list"}


class ProseExitInCountedLoop(LoopRule):
    code = "LP045"
    name = "prose-exit-in-counted-loop"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM
    origin = "product"
    summary = "A prompt in a `for` or `forEach` loop tells the agent to leave the loop."
    why = (
        "Such a loop runs as often as its count or its list says. The agent can't end it early, so it gets the "
        "remaining rounds with nothing left to do."
    )
    words = (IN_PROMPTS, *_EXIT.words)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if not any(loop.loop.type in _DECIDED_BY for loop in workflow.steps if loop.kind == "loop"):
            return
        seen: set[str] = set()
        for phrase in delivered(workflow).phrases(_EXIT):
            loop = workflow.loop_of.get(phrase.step.pointer)
            kind = loop.loop.type if loop is not None else None
            if kind not in _DECIDED_BY or phrase.pointer in seen:
                continue
            if phrase.is_negated or _NATURAL_END.search(phrase.sentence):
                continue
            seen.add(phrase.pointer)
            report(
                phrase.pointer,
                f"{label(phrase.step)}: {excerpt(phrase.words)} has no effect, because {_DECIDED_BY[kind]} decides how "
                f"often this {kind} loop runs; use a while loop with a loop-control artifact, or a `runCondition` on "
                "the step",
            )

    def examples(self) -> Iterable[Example]:
        prompt = "Improve the draft. If nothing is left to improve, leave the loop."
        yield Example(
            samples.workflow(samples.loop(samples.step("improve", prompt))),
            samples.workflow(samples.controlled_loop(samples.step("improve"), samples.decision())),
        )


_WORDS = {
    word: value
    for value, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 1)
}
_NUMBER = r"(\d{1,4}|[a-z]{3,5})"  # or any other short word
_ROUND = r"(?:full |total |loop |complete )?(?:rounds?|iterations?|pass(?:es?)?|cycles?)"
_ROUND_WORDS = frozenset(("round", "rounds", "iteration", "iterations", "pass", "passe", "passes", "cycle", "cycles"))
_LIMITING = ("at most", "up to", "no more than", "max", " rounds", " iterations")
_ROUNDS = (
    Search(
        _LIMITING,
        r"\b(?:stop|end|finish|give up|quit|ends|stops)\b[^.!?\n\0]{0,30} after (?:at most )?"
        rf"{_NUMBER} {_ROUND}\b",
        before=48,
        also=(" after ",),
        near=_ROUND_WORDS,
    ),
    Search(
        _LIMITING,
        r"\b(?:at most|up to|no more than|(?:a )?maximum(?: of)?:?|max\.?(?: of)?|limited? to)\s+"
        rf"{_NUMBER}\s+{_ROUND}\b",
        before=48,
        near=_ROUND_WORDS,
    ),
    # "Improve the draft at most 3 times."
    Search(
        _LIMITING,
        r"\b(?:repeat|iterate|loop|retry|revise|refine|polish|improve|run|go)\b[^.!?,;:\n\0]{0,40}? "
        rf"(?:at most|up to|no more than|a maximum of) {_NUMBER} times\b",
        before=48,
        also=(" times",),
    ),
)


def _number(word: str) -> int | None:
    """Return the number that a word or some digits stand for; None for any other word."""
    return int(word) if word.isdecimal() else _WORDS.get(word)


# "5 iterations of the simulation" and "3 passes per file" do not count the rounds of the loop.
_OF_SOMETHING = Pattern(r"\s+(?:of (?!this loop|the loop|this step)|per |for each |in each |through |over )")


class ProseRoundsDiffer(LoopRule):
    code = "LP046"
    name = "prose-rounds-differ"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM
    origin = "product"
    summary = "A prompt in a loop limits the rounds to a number other than `maxIterations`."
    why = "The engine ends the loop at `maxIterations`, whatever the prompt says; the agent plans for the wrong number."
    words = (IN_PROMPTS, *_LIMITING)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        seen: set[tuple[str, int]] = set()
        texts = delivered(workflow)
        for phrase in (phrase for search in _ROUNDS for phrase in texts.phrases(search)):
            loop = workflow.loop_of.get(phrase.step.pointer)
            rounds = _number(phrase.hit.match[1])
            if (
                loop is None
                or rounds is None
                or phrase.is_negated
                or _OF_SOMETHING.match(phrase.passage.low, phrase.end)
            ):
                continue
            settings = (loop.loop.max_iterations, number_of_rounds(loop))
            limits = [limit for limit in settings if limit is not None]
            if not limits or rounds in limits or (phrase.pointer, rounds) in seen:
                continue
            seen.add((phrase.pointer, rounds))
            report(
                phrase.pointer,
                f"{label(phrase.step)}: {excerpt(phrase.words)} contradicts the loop, which runs at most "
                f"{js.number_text(min(limits))} rounds; make the prompt and `maxIterations` agree",
            )

    def examples(self) -> Iterable[Example]:
        def limited(rounds: int) -> dict[str, Any]:
            prompt = f"Improve the draft. Run at most {rounds} rounds."
            return samples.workflow(samples.controlled_loop(samples.step("improve", prompt), samples.decision()))

        yield Example(limited(6), limited(3))


# --------------------------------------------------------------------------------------------- approval

_PEOPLE = (
    *("user", "human", "person", "owner", "stakeholder", "reviewer", "maintainer", "manager", "lead", "customer"),
    *("client", "operator", "team", "engineer", "developer", "administrator", "author", "sponsor", "host", "guest"),
    *("editor", "investigator", "teacher", "boss", "me", "marketing", "legal", "security", "management"),
    *("compliance", "finance"),
)
_PERSON = f"(?:{'|'.join(_PEOPLE)})"
_SOMEONE = frozenset(_PEOPLE)
_ANYONE = _SOMEONE | {"they", "he", "she", "you"}
_S = r"(?:'s|’s)"
_APPROVING = ("approv", "sign-off", "signoff", "sign off", "signed off", " agreed", " confirmed")
_ASKS = ("wait", "pause", "ask ", "get ", "obtain ", "request ", "seek ")  # also of "await"
_FOR_APPROVAL = (
    r"\b(?:wait(?:ing)? for|pause(?: here)? for|ask for|ask (?:the )?\w+ for|get|obtain|request|seek|await)"
    rf" (?:(?:the|an?|explicit|written|final|formal|clear|your|their|\w+{_S}) ){{0,3}}"
)
_WAIT_UNTIL = r"\b(?:wait|pause|stop|hold)(?:s|ing)? (?:here )?until (?:the |an? |your )?"
_APPROVAL = (
    Search(
        _APPROVING,
        rf"{_FOR_APPROVAL}{_PERSON}{_S}? (?:\w+ )?(?:approval|sign-?off|to (?:approve|sign off))\b",
        before=110,
        also=_ASKS,
        near=_SOMEONE,
    ),
    Search(
        _APPROVING,
        rf"{_FOR_APPROVAL}(?:approval|sign-?off) (?:from|by|of) (?:the |an? )?(?:\w+ )?{_PERSON}\b",
        before=110,
        also=(*("approval ", "signoff ", "sign-off "),),
        near=_SOMEONE,
    ),
    Search(
        _APPROVING,
        rf"{_WAIT_UNTIL}(?:\w+ )?{_PERSON} (?:has |have |explicitly ){{0,2}}"
        r"(?:approves?|approved|signs? off|signed off|gives? (?:\w+ )?approval|given approval)\b",
        before=110,
        also=(" until ",),
        near=_SOMEONE,
    ),
    Search(
        _APPROVING,
        r"\b(?:only|not) (?:\w+ ){0,4}?(?:once|after|when|until) "
        rf"(?:they|he|she|you|(?:the |an? |your )?(?:\w+ )?{_PERSON}) (?:has|have)? ?"
        r"(?:given (?:\w+ )?(?:approval|consent)|approve[sd]?|confirm(?:s|ed)?|agree[sd]?|signed off)\b",
        before=110,
        also=("only ", "not "),
        near=_ANYONE,
    ),
)


# The same without a word for approval: "this step requires confirmation", "ask the user for permission before …".
_CONSENT = r"(?:confirmation|permission|consent|approval|sign-?off|the go-ahead|go-ahead)"
_CONSENTING = ("confirm", "permission", "consent", "go-ahead", "approval")
_PERMISSION = (
    Search(
        _CONSENTING,
        rf"\b(?:this|the) step (?:requires?|needs?) (?:(?:an?|the|explicit|manual|{_PERSON}{_S}?) ){{0,3}}{_CONSENT}\b",
        before=70,
        also=(" step require", " step need"),
    ),
    Search(
        _CONSENTING,
        rf"\b(?:ask|get|obtain|request|seek|await|wait for)(?: (?:the|an?|your))? {_PERSON}{_S}?"
        rf"(?: for)?(?: (?:the|their|his|her|explicit|written|final|clear))* {_CONSENT}\b",
        before=70,
        also=_ASKS,
        near=_SOMEONE,
    ),
    Search(
        _CONSENTING,
        r"\b(?:get|obtain|request|seek|await|wait for|ask for) "
        rf"(?:(?:the|explicit|written|final|clear|an?) )*{_CONSENT} (?:from|by|of) (?:the |an? |your )?{_PERSON}\b",
        before=70,
        also=_ASKS,
        near=_SOMEONE,
    ),
    Search(
        _CONSENTING,
        rf"\b(?:ask|wait for) (?:the |your )?{_PERSON} to confirm\b",
        before=70,
        also=(" to confirm",),
        near=_SOMEONE,
    ),
    Search(
        _CONSENTING,
        rf"{_WAIT_UNTIL}{_PERSON} (?:has |have |explicitly ){{0,2}}(?:confirms?|confirmed|agrees?|agreed|consents?)\b",
        before=70,
        also=(" until ",),
        near=_SOMEONE,
    ),
    Search(
        _CONSENTING,
        rf"\bwait(?:ing)? for (?:(?:the|their|your|his|her|an?|explicit|\w+{_S}) ){{1,2}}{_CONSENT}\b",
        before=70,
        also=("wait for ", "waiting for "),
    ),
)


# "Do not continue until the owner approves": what is forbidden is to go on without them.
_GO_ON = (
    r"\b(?:do not|don't|never|must not|cannot) (?:proceed|continue|start|begin|go on|advance|move on|merge|deploy"
    r"|publish|release|apply|execute|send)\b[^.!?\n\0]{0,40}? "
)
_NOT = ("not ", "n't ", "never ")
_CONSENT_WORDS = (
    "approv",
    "sign-off",
    "signoff",
    "sign off",
    "signed off",
    "confirm",
    "permission",
    "consent",
    "go-ahead",
)
_BLOCKED = (
    Search(
        _CONSENT_WORDS,
        rf"{_GO_ON}(?:until|unless|before) (?:the |an? |your )?(?:\w+ |on-call )?"
        rf"{_PERSON} (?:has |have |explicitly )*(?:approve[sd]?|confirm(?:s|ed)?|signe?d? off)",
        before=140,
        also=_NOT,
        near=_SOMEONE,
    ),
    Search(
        _CONSENT_WORDS,
        rf"{_GO_ON}without (?:(?:the|explicit|written|prior) )*(?:{_PERSON}{_S}? )?{_CONSENT}\b",
        before=140,
        also=(" without ",),
    ),
)


# In a step that is called a gate, asking is enough.
_ASKED = Search(
    ("ask the ", "ask your ", "ask me "),
    rf"\bask (?:(?:the |your ){_PERSON}|me) (?:to (?:choose|decide|approve|accept|confirm|pick)|whether|if|for)\b",
    near=_SOMEONE,
)
_GATE_TITLE = Pattern(
    r"\b(?:(?:approval|sign-?off|confirmation|human|user)(?: review)? (?:gate|checkpoint)"
    r"|(?:final|user|human) (?:approval|sign-?off|confirmation))\b"
)
_GATE_WORDS = ("gate", "checkpoint", "approval", "sign", "confirmation")  # one of them is in each such title


class ApprovalWithoutConfirmation(WorkflowRule):
    code = "PR039"
    name = "approval-without-confirmation"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM
    origin = "product"
    summary = "A prompt tells the agent to wait for approval, but the step has no `requireConfirmation`."
    why = (
        "Nothing stops the run: an agent without a user decides that it was approved and continues. "
        "`requireConfirmation` makes the engine wait."
    )
    words = (IN_PROMPTS, *_APPROVING, *_CONSENTING, *_ASKED.words)
    bad = {"prompt": "Write the release notes. Pause until the user approves them."}
    good = {"prompt": "Write the release notes. Pause until the user approves them.", "requireConfirmation": True}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        seen: set[str] = set()
        texts = delivered(workflow)
        phrases = [phrase for search in (*_APPROVAL, *_PERMISSION) for phrase in texts.phrases(search)]
        phrases = [phrase for phrase in phrases if not phrase.is_negated]
        phrases += [phrase for search in _BLOCKED for phrase in texts.phrases(search)]
        if any(self._is_gate(step.title.lower()) for step in workflow.all_steps):
            phrases += [phrase for phrase in texts.phrases(_ASKED) if self._is_gate(phrase.step.title.lower())]
        for phrase in sorted(phrases, key=lambda phrase: phrase.is_conditional):
            if phrase.step.require_confirmation or phrase.pointer in seen:
                continue
            seen.add(phrase.pointer)
            conditional = phrase.is_conditional
            advice = "set it to a condition" if conditional else "set it to true"
            report(
                phrase.pointer,
                f"{label(phrase.step)}: {excerpt(phrase.words)} does not stop the run, because the step has no "
                f"`requireConfirmation`; {advice}",
                severity=Severity.INFO if conditional else None,
            )

    @staticmethod
    def _is_gate(title: str) -> bool:
        return any(map(title.__contains__, _GATE_WORDS)) and _GATE_TITLE.search(title) is not None
