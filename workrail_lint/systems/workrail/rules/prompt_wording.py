"""PR, LC: what a prompt or a name should not say: excuses, narration, leftovers, decoration, the same text again."""

from __future__ import annotations

from collections.abc import Iterable

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import counted, quoted
from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Confidence, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.delivered_text import Phrase, delivered
from workrail_lint.systems.workrail.rules.prose import (
    IN_PROMPTS,
    Hit,
    Search,
    excerpt,
    label,
    prompts,
    sentence_at,
)
from workrail_lint.systems.workrail.rules.rule_needs import (
    DECORATED_NAME,
    ENGINE_VOICE,
    MARKUP,
)

_LAZY = Search(
    ("if appropriate", "minimal pass", "light scan", "smallest", "cheapest"),
    # The smallest change is good advice, not an excuse.
    r"\b(?:if appropriate|minimal pass|light scan|cheapest"
    r"|smallest(?! \w+ly\b| (?:\w+ ){0,2}(?:change|fix|diff|edit)s?\b))\b",
)
# What keeps "the smallest …" from meaning "nothing": a floor in the same sentence.
_FLOORS = (
    "at least",
    "correct",
    "credible",
    "enough to",
    "must",
    "necessary",
    "needed",
    "record why",
    "required",
    "sufficient",
    "that can",
    "that meet",
    "that prove",
    "that satisf",
    "that show",
    "that still",
)


# An instruction that leaves open whether it is one.
_HEDGE = Search(
    (
        "maybe",
        "perhaps",
        "you could",
        "you might",
        "feel free",
        "if you feel",
        *("if you have time", "might be worth", "whatever ", "would be ", "would probably be"),
    ),
    r"\b(?:maybe|perhaps) (?:you|try|also|consider|run|use|check|look|do|add|write|have|start|it (?:is|would|might))\b"
    r"|(?<![a-z,;)] )\b(?:maybe|perhaps) (?:put|make|read|find|ask|set|create|list|include|mention|send|post|test"
    r"|compare|review|open|split|update|keep)\b"
    r"|\bwhatever (?:seems|looks|feels|you (?:think|feel) is) (?:appropriate|fitting|right|best|good|reasonable)\b"
    r"|(?<=\bit )would (?:probably |maybe |perhaps |also )?be (?:good|nice|great|helpful|useful|ideal) to \w+"
    r"|\byou (?:could|might) (?:maybe |perhaps |possibly |also )*(?:try|want to|consider|think about|like to)\b"
    r"|\bfeel free to (?:skip|ignore|omit|leave)\b|\bif you (?:feel like|have time)\b"
    r"|\bit might be worth (?:\w+ing)\b",
)
_IF_POSSIBLE = Search(
    (" if possible", " if you can", " if time permits", "if possible, try"),
    r"\btry to \w+[^.\n\0]{0,60} if (?:possible|you can|time permits)\b|\bif possible, try to \w+",
    before=96,
    also=("try to ",),
)


class PromptLazyWording(WorkflowRule):
    code = "PR019"
    name = "prompt-lazy-wording"
    severity = Severity.INFO
    confidence = Confidence.MEDIUM
    origin = "spec"
    summary = "A prompt allows minimal effort and sets no minimum, or leaves open whether something is to be done."
    why = (
        "An agent reads `if appropriate` or `a light scan` as permission to skip. A minimum in the same sentence "
        "prevents it. `Maybe you could` leaves everything open, which is a warning."
    )
    words = (IN_PROMPTS, *_LAZY.words, *_HEDGE.words, *_IF_POSSIBLE.words)
    bad = ({"prompt": "Do a light scan of the module."}, {"prompt": "Perhaps you might want to run the linter."})
    good = (
        {"prompt": "Do a light scan of the module that names at least every public function."},
        {"prompt": "Run the linter. Report what the user might want to change."},
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        loose: dict[str, dict[str, Hit]] = {}
        for hit in prompts(workflow).hits(_LAZY):
            by_phrase = loose.setdefault(hit.text.pointer, {})
            if hit.phrase not in by_phrase and not self._has_floor(sentence_at(hit.text.text, hit.start)):
                by_phrase[hit.phrase] = hit
        for pointer, by_phrase in loose.items():
            if not by_phrase:
                continue
            hits = sorted(by_phrase.values(), key=lambda hit: hit.start)
            phrases = ", ".join(quoted(hit.phrase) for hit in hits)
            report(
                pointer,
                f"{label(hits[0].step)}: {phrases} lets the agent do next to nothing; say what it must do at least",
            )
        seen: set[str] = set()
        texts = delivered(workflow)
        for phrase in (*texts.phrases(_HEDGE), *texts.phrases(_IF_POSSIBLE)):
            if phrase.pointer not in seen and not phrase.is_negated:
                seen.add(phrase.pointer)
                report(
                    phrase.pointer,
                    f"{label(phrase.step)}: {excerpt(phrase.words)} leaves open whether to do it; say what to do, "
                    "and when",
                    severity=Severity.WARNING,
                )

    @staticmethod
    def _has_floor(sentence: str) -> bool:
        low = f" {sentence.lower()}"
        return any(f" {floor}" in low for floor in _FLOORS)


_VOICES = (
    "the agent should ",
    "the agent will ",
    "the agent must ",
    "the agent needs to ",
    "this step will ",
    "this step should ",
    "provide a loop control artifact",
    "provide a loop-control artifact",
    "input contract:",
)
_OPENINGS = ("/prompt", "/promptBlocks/goal", "/promptBlocks/goal/0/text")


class PromptEngineVoice(WorkflowRule):
    code = "PR020"
    name = "prompt-engine-voice"
    severity = Severity.INFO
    confidence = Confidence.MEDIUM
    origin = "spec"
    summary = "A prompt starts by describing the machinery instead of addressing the agent."
    why = "Agents follow direct instructions more closely than sentences about `the agent` or `this step`."
    needs = frozenset({ENGINE_VOICE})
    bad = {"prompt": "The agent should review the change."}
    good = {"prompt": "Review the change."}

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        opening = next((text for text in step.prompt_texts if text.pointer.endswith(_OPENINGS)), None)
        if opening is None:
            return
        start = opening.text[:64].lstrip(MARKUP)
        if start.lower().startswith(_VOICES):
            report(
                opening.pointer,
                f"{label(step)}: the prompt starts with {excerpt(start)}; tell the agent directly what to do",
            )


_SELF_CERTIFY = (
    Search(
        ("stillfuzzy", "contextauditneeded"),
        r"\b(?:set|record|report|mark|return|decide|declare|determine|output|emit|state|capture|update|provide|give"
        r"|indicate)\b[^.\n\0]{0,40}\b(?:stillfuzzy|contextauditneeded)\b"
        r"|\b(?:stillfuzzy|contextauditneeded)`?\s*(?:[=:]|\bto\b)",
        before=48,
    ),
    Search(("confident",), r"\b(?:is)?confident`?\s*(?:[=:]|\bto\b)\s*`?true\b", before=2, also=("true",)),
)
_BULLET = Pattern(r"[ \t]*(?:[-*•]|\d+[.)])\s")
_SCALE = Pattern(r"\d\s?(?:-|–|\.\.|to|/)\s?\d|\b[01]\s?=|\bscore")


class PromptSelfCertify(WorkflowRule):
    code = "PR021"
    name = "prompt-self-certify"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM
    origin = "spec"
    summary = "A prompt asks the agent to assess itself in a flag, without a rubric."
    why = (
        "Asked whether it is still unsure, an agent says no. A rubric with at least two scored dimensions makes it "
        "check before it answers."
    )
    words = (IN_PROMPTS, *(word for search in _SELF_CERTIFY for word in search.words))
    bad = {"prompt": "Set stillFuzzy = true or false."}
    good = {"prompt": "Score each dimension:\n- Scope known: 0-2\n- Evidence read: 0-2\nSet stillFuzzy = true below 3."}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        seen: set[str] = set()
        for hit in (hit for search in _SELF_CERTIFY for hit in prompts(workflow).hits(search)):
            step, text = hit.step, hit.text
            has_assessment = step.kind == "standard" and bool(step.assessment_refs)
            if text.pointer in seen or has_assessment or self._has_rubric(step.prompt_text):
                continue
            seen.add(text.pointer)
            report(
                text.pointer,
                f"{label(step)}: {excerpt(hit.phrase)} asks the agent to assess itself without a rubric; "
                "list at least two dimensions to score and derive the flag from them",
            )

    @staticmethod
    def _has_rubric(prompt: str) -> bool:
        """Return whether a prompt lists at least two dimensions to be scored."""
        lines = [line for line in prompt.lower().split("\n") if _BULLET.match(line)]
        return sum(bool(_SCALE.search(line)) or ("low" in line and "high" in line) for line in lines) > 1


_SPAWN = Search(
    ("spawn", "launch", "dispatch", "delegat"),
    r"\b(?:spawn|launch|dispatch|delegate (?:\w+ )?to)\s+(?:(?:all|at most|up to|exactly|about)\s+)?"
    r"(?:[2-9]\d*|1\d+|two|three|four|five|six|seven|eight|nine|ten|several|multiple|many|a few|some)\b"
    r"(?:\s+or\s+\w+)?(?:\s+[\w-]+){0,4}?\s+(?:executors|sub-?agents|agents|helpers|workers|delegates|assistants)\b",
)
_MECHANISM = ("workrail executor", "tool", "spawn_agent", "mcp", "routine-", "workflowid")


_HELPER = r"(?:sub-?agents?|executors?|delegates?|helpers?|workers?|agents?|it|they|he|she)"
_HELPERS = frozenset(
    (
        *("subagent", "subagents", "executor", "executors", "delegate", "delegates", "helper", "helpers"),
        *("worker", "workers", "agent", "agents", "it", "they", "he", "she"),
    )
)
# A subagent starts without what was said before.
_SHARING = (
    *("already know", "already has", "already have", "what we discussed", "our conversation", "our discussion"),
    *("remember", "no need to ", " knows ", "has the context", "has seen", "have seen", "we discussed"),
)
_SHARED = (
    Search(
        _SHARING,
        rf"\b{_HELPER} (?:will |should |can )?(?:already )?(?:knows?|remembers?|has|have) "
        r"(?:[\w']+ ){0,4}?(?:we (?:\w+ )?(?:discussed|said|agreed|talked about|learned|covered)|our (?:conversation"
        r"|discussion|chat)"
        r"|the (?:conversation|chat)(?: history)?|the (?:full |whole |same )?context|everything|the background"
        r"|what (?:happened|was (?:said|done|decided)) (?:so far|before|earlier))\b",
        before=120,
        also=(" we ", " our ", " conversation", " chat", " context", " everything", " background", " what "),
        near=_HELPERS,
    ),
    Search(
        _SHARING,
        rf"\b{_HELPER} (?:has|have) (?:already )?(?:seen|read|heard|followed) (?:the|our|this|everything|all)\b",
        before=120,
        also=(" seen ", " read ", " heard ", " followed "),
        near=_HELPERS,
    ),
    Search(
        _SHARING,
        rf"\b{_HELPER}\b[^.\n\0]{{0,60}}? (?:using|from|with|based on) what we (?:\w+ )?"
        r"(?:discussed|said|agreed|decided)\b",
        before=120,
        also=(" what we ",),
        near=_HELPERS,
    ),
    Search(
        ("no need to ",),
        r"\bno need to (?:repeat|explain|give|pass|restate) (?:it|them|anything|the (?:context|details|background))\b",
    ),
)
_DELEGATES = Search(
    ("spawn", "launch", "dispatch", "delegat", "start a", "have a"),
    r"\b(?:spawn|launch|dispatch|start|have|delegate (?:\w+ ){0,3}?to)\s+(?:an?|one|the|another)\s+(?:[\w-]+\s+){0,3}?"
    r"(?:executor|sub-?agent|agent|helper|worker|delegate)\b",
)
_SHORT_PACKAGE = 200
_PACKAGE = Pattern(
    r"\b(?:return|report|include|giv(?:e|ing)|pass|provid|context|inputs?|deliverables?|output|package|goal|scope"
    r"|with |about |question|send|tell|ask it|should|must|task|brief|evidence|synthesi[sz])"
)


class PromptDelegationAmbiguous(WorkflowRule):
    code = "PR025"
    name = "prompt-delegation-ambiguous"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM
    origin = "lock"
    summary = "A prompt delegates without saying how, what to give the subagent, or what it returns."
    why = (
        "Without a tool or an executor to call, some agents only pretend to delegate the work. A subagent starts "
        "without "
        "the conversation, so it knows only what it is given."
    )
    words = (IN_PROMPTS, *_SPAWN.words, *_SHARING)
    bad = (
        {"prompt": "Spawn 3 executors and merge what they report."},
        {"prompt": "Hand the review to a subagent. It already knows what we discussed."},
    )
    good = (
        {"prompt": "Spawn 3 WorkRail Executors in parallel and merge what they report."},
        {"prompt": "Hand the review to a subagent. Give it the diff and the list of risks; it returns findings."},
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        seen: set[str] = set()
        for hit in prompts(workflow).hits(_SPAWN):
            step, text = hit.step, hit.text
            if text.pointer in seen:
                continue
            seen.add(text.pointer)
            prompt = step.prompt_text.lower()
            if not any(word in prompt for word in _MECHANISM):
                report(
                    text.pointer,
                    f"{label(step)}: {excerpt(hit.phrase)} doesn't say how; name the tool or executor that runs them",
                )
        texts = delivered(workflow)
        for phrase in (phrase for search in _SHARED for phrase in texts.phrases(search)):
            prompt = phrase.step.prompt_text.lower()
            is_helper = any(word in prompt for word in ("subagent", "sub-agent", "executor", "delegat", "spawn"))
            if is_helper and phrase.pointer not in seen and not phrase.is_negated and not phrase.is_conditional:
                seen.add(phrase.pointer)
                report(
                    phrase.pointer,
                    f"{label(phrase.step)}: {excerpt(phrase.words)} is wrong, because a subagent starts without the "
                    "conversation; say what to give it",
                )
        for phrase in texts.phrases(_DELEGATES):
            prompt = phrase.step.prompt_text.lower()
            if phrase.pointer in seen or phrase.is_negated or len(prompt) > _SHORT_PACKAGE:
                continue
            if _PACKAGE.search(prompt):
                continue
            seen.add(phrase.pointer)
            report(
                phrase.pointer,
                f"{label(phrase.step)}: {excerpt(phrase.words)} says neither what to give the subagent nor what it "
                "returns; add both",
            )


_CODE = Pattern(r"\bfun \w+\(|\b\w+\([^()]*\)\s*=(?!=)|=>")


class MetaGuidancePseudoCode(WorkflowRule):
    code = "PR026"
    name = "meta-guidance-pseudo-code"
    severity = Severity.WARNING
    origin = "spec"
    summary = "An item of `metaGuidance` is written as code."
    why = "Nothing runs it. Agents follow rules in plain sentences; pseudo-code only looks as if it were enforced."
    needs = frozenset({"metaGuidance"})
    bad = {"metaGuidance": ["fun adapt(depth) = depth > 2 ? 'deep' : 'quick'"]}
    good = {"metaGuidance": ["Go deep when the change touches more than two modules."]}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        code = [
            (index, match[0])
            for index, item in numbered(workflow.model.meta_guidance)
            if self._may_be_code(item) and (match := _CODE.search(item))
        ]
        if code:
            index, first = code[0]
            more = f" and {counted(len(code) - 1, 'other item')}" if len(code) > 1 else ""
            report(
                f"/metaGuidance/{index}",
                f"metaGuidance[{index}]{more} {'contain' if more else 'contains'} code ({excerpt(first)}), which "
                "nothing runs; write plain text",
            )

    @staticmethod
    def _may_be_code(text: str) -> bool:
        return "=>" in text or "fun " in text or ("=" in text and ")" in text)


_MANY_QUESTIONS = 5


class ClarificationHeavy(WorkflowRule):
    code = "PR027"
    name = "clarification-heavy"
    severity = Severity.INFO
    confidence = Confidence.MEDIUM
    origin = "spec"
    summary = f"A workflow asks more than {_MANY_QUESTIONS} clarification questions."
    why = "A user who must answer a long questionnaire first gives up, or answers anything."
    needs = frozenset({"clarificationPrompts"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        count = len(workflow.model.clarification_prompts)
        if count > _MANY_QUESTIONS:
            report(
                "/clarificationPrompts",
                f"the workflow asks {count} questions before any work starts; keep at most {_MANY_QUESTIONS}, "
                "those that change what happens",
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        questions = [f"What is the answer to question {number}?" for number in range(1, 7)]
        yield Example(
            samples.workflow(clarificationPrompts=questions), samples.workflow(clarificationPrompts=questions[:3])
        )


# --------------------------------------------------------------------------------------------- leftovers

_MARK = Search(("todo", "fixme", "xxx", "tbd"), r"(?<![\w/\"'“`-])(?:todo|fixme|xxx|tbd)(?![\w/\"'”`-])")
_OPEN = Search(
    ("<!--", "// v", "[insert ", "???"), r"<!--|(?<!\S)// v\d+\b|\[insert [^\]\n\0]{1,80}\]|(?<![\w?!\"'`])\?{3,}(?!\w)"
)
# Blanks that only the author can fill in, and notes of one author to another.
_BLANK = Search(
    (
        *("<your", "[your ", "<insert", "<fill", "[fill in", "[placeholder", "<placeholder", "lorem ipsum", "changeme"),
        *(" here]", " here>", "{insert", "{your ", " xx "),
    ),
    r"<(?:your|insert|fill(?: |-)in)[ _-][^<>\n\0]{1,60}>|\[(?:your [^\]\n\0]{1,60}|fill in[^\]\n\0]{0,60})\](?!\()"
    r"|[<\[]placeholder[^<>\[\]\n\0]{0,60}[>\]]|\blorem ipsum\b|\bchangeme\b"
    r"|[<\[][\w -]{2,50} here[>\]](?!\()|(?<!\{)\{(?:insert|your) [^{}\n\0]{1,50}\}"
    r"| xx (?:hours?|days?|minutes?|weeks?|words|percent|items|people|euros?|dollars?)\b",
    before=60,
)
_NOTE = Search(
    (
        "note to ",
        "notes to ",
        "[ed",
        "(ed",
        "[comment",
        "[note",
        "<<<<<<<",
        ">>>>>>>",
        "[reviewer",
        "[wip",
        "(wip",
        "[draft",
    ),
    r"\bnotes? to (?:self|the (?:author|editor)|author|editor)\b|[\[(]{1,2}(?:ed|editor|comment|reviewer|wip"
    r"|draft)(?:'s)?"
    r"(?: note| comment)?(?:\.?:|[\])](?!\())[^\n\0]{0,60}|\[note(?: to \w+)?:[^\]\n\0]{1,60}\]|<{7}(?= )|>{7}(?= )",
)
# What a chat wrote around the prompt when it was copied.
_CHAT = (
    Search(
        ("sure", "certainly", "of course", "absolutely"),
        r"(?<![^\n\0])(?:sure|certainly|of course|absolutely)[!,.] here(?: is|'s|’s|\b)",
        also=("! here", ", here", ". here"),
    ),
    Search(
        ("here is the ", "here's the "),
        r"(?<![^\n\0])here(?: is|'s) the (?:\w+ )?(?:updated|revised|improved|rewritten|corrected|final)?"
        r" ?(?:prompt|workflow|step)\b[^\n\0]{0,40}:",
        also=("prompt", "workflow", "step"),
    ),
    Search(("as an ai",), r"\bas an ai(?: language)? (?:model|assistant)\b"),
    Search(("i hope this",), r"(?<![^\n\0])i hope this helps\b"),
    Search(
        ("let me know if",),
        r"\blet me know if you(?:'d| would)? (?:like|want|need) (?:me to|any|further|more)\b[^\n\0]{0,40}"
        r"\b(?:changes|adjust|tweak|modif)",
    ),
    # What a chat leaves out when it shows an edit.
    Search(
        ("rest of the ",),
        r"(?:\.\.\.|…|[\[(/*])\s?(?:the )?rest of (?:the )?(?:existing )?"
        r"(?:prompt|steps?|text|instructions|workflow|content)\b[^.\n\0]{0,40}?"
        r"\b(?:unchanged|the same|as before|omitted|here)\b",
        before=8,
        also=("unchanged", "the same", "as before", "omitted", "here"),
    ),
)
# A mark that the agent should find or set is not one that the author left.
_ABOUT_MARKS = Pattern(
    r"\b(?:no|any|remove|removing|find|finding|leave|leaving|left|mark|marked|check|search\w*|grep|note|list|flag|track|scan"
    r"|look|without|zero|unresolved|write|contain\w*|replace|resolve|every|each|all)\b"
)
# "TODO comments", "TBD items": the word is used, not meant.
_AS_NOUN = Pattern(
    r"[ \t]+(?:comments?|items?|lists?|markers?|entries|entry|notes?|tags?|verdicts?|values?|rows?|fields?|and|or)\b"
)


class PromptLeftover(WorkflowRule):
    code = "PR040"
    name = "prompt-leftover"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt contains an author's note (TODO, FIXME, XXX, TBD, a comment) or a blank to fill in."
    why = "The agent reads it as an instruction, and what the author meant to write is missing."
    words = (
        IN_PROMPTS,
        *_MARK.words,
        *_OPEN.words,
        *_BLANK.words,
        *_NOTE.words,
        *(word for search in _CHAT for word in search.words),
    )
    bad = (
        {"prompt": "FIXME: name the target site. Publish the text."},
        {"prompt": "Publish the text on <your-site>."},
        {"prompt": "Publish the text. (Note to self: which site?)"},
    )
    good = (
        {"prompt": "Publish the text on the staging site."},
        {"prompt": "Write the headline as `# <your headline>`."},
        {"prompt": "Publish the text, with a note to the readers."},
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        texts = delivered(workflow)
        seen: set[str] = set()
        for search in (_MARK, _OPEN, _BLANK, _NOTE, *_CHAT):
            for phrase in texts.phrases(search):
                if phrase.pointer not in seen and not phrase.is_negated and not self._is_meant(phrase, search is _MARK):
                    seen.add(phrase.pointer)
                    what = excerpt(phrase.words)
                    report(phrase.pointer, f"{label(phrase.step)}: the agent will see {what}; complete or remove it")

    @staticmethod
    def _is_meant(phrase: Phrase, is_mark: bool) -> bool:
        """Return whether a mark is something the agent should handle, not something the author left."""
        low = phrase.passage.low
        first, _ = phrase.passage.sentence(phrase.start)
        if not is_mark:
            return False
        if not phrase.words.isupper() or _AS_NOUN.match(low, phrase.end):
            return True
        return _ABOUT_MARKS.search(low, first, phrase.start) is not None


_OWN_NUMBER = Pattern(r"\s*(\d{1,3})[.)]\s+(?=\S)")


class NumberedTwice(WorkflowRule):
    code = "PR041"
    name = "numbered-twice"
    severity = Severity.WARNING
    origin = "product"
    summary = "An item of a `procedure` begins with its own number."
    why = "The engine numbers the items of a procedure, so the agent sees `1. 1. Open the file`."
    fix = "Remove the numbers from the items."
    needs = frozenset({"promptBlocks"})
    bad = {"promptBlocks": {"goal": "Read the log.", "procedure": ["1. Open the file.", "2. Read it."]}}
    good = {"promptBlocks": {"goal": "Read the log.", "procedure": ["Open the file.", "Read it."]}}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        replacements: list[Replace] = []
        steps: list[str] = []
        for step in workflow.all_steps:
            if step.kind != "standard" or step.prompt_blocks is None or step.calls_template:
                continue
            for index, item in numbered(step.prompt_blocks.procedure):
                match = _OWN_NUMBER.match(item) if isinstance(item, str) and item.lstrip()[:1].isdigit() else None
                # A number that differs from the rendered one may be intended, as in "3) files are enough".
                if match and int(match[1]) == index + 1:
                    replacements.append(Replace(step.prompt_blocks.at("procedure", index), match.string[match.end() :]))
                    steps.append(label(step))
        if not replacements:
            return
        more = len(set(steps)) - 1
        also = f" (so do {counted(more, 'other step')})" if more > 1 else " (so does another step)" if more else ""
        report(
            replacements[0].pointer,
            f"{steps[0]}: this item has its own number, and the engine adds another{also}; remove the number",
            fix=unsafe("remove the numbers before the items", *replacements),
        )


_ROLE = Search(("role:",), r"(?:(?:the )?agent['’]s role|your role):", before=16)


class RoleInPrompt(WorkflowRule):
    code = "PR042"
    name = "role-in-prompt"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM
    origin = "product"
    summary = "A prompt gives the agent its role in a separate line."
    why = "The engine delivers the role from `agentRole`; inside a prompt it is one instruction among many."
    words = (IN_PROMPTS, *_ROLE.words)
    bad = {"prompt": "Your role: a careful reviewer.\nReview the change."}
    good = {"prompt": "Review the change.", "agentRole": "You are a careful reviewer."}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        seen: set[str] = set()
        texts = delivered(workflow)
        for phrase in texts.phrases(_ROLE):
            line = phrase.passage.low[phrase.passage.low.rfind("\n", 0, phrase.start) + 1 : phrase.start]
            if line.strip(" \t*_#>-") or phrase.pointer in seen:
                continue
            seen.add(phrase.pointer)
            has_role = phrase.step.kind == "standard" and bool(phrase.step.agent_role)
            advice = "merge it into `agentRole`" if has_role else "move it to `agentRole`"
            report(
                phrase.pointer,
                f"{label(phrase.step)}: {excerpt(phrase.words)} puts the role into the prompt; {advice}",
                severity=Severity.INFO if has_role else None,
            )


_DECORATION = Pattern(r"[•·|]|\((?:[^()]*[\s,])?v\d+(?:\.\d+)*\b[^()]*\)|\(\d+\.\d+[^()]*\)")


class DisplayNameDecorated(WorkflowRule):
    code = "LC020"
    name = "display-name-decorated"
    severity = Severity.WARNING
    origin = "spec"
    summary = "The workflow's name contains separators such as `•` or `|`, or a version in parentheses."
    why = (
        "Users see the name in lists and use it in requests. Features belong in `description` and the version in "
        "`version`, where they don't go stale."
    )
    needs = frozenset({DECORATED_NAME})
    bad = ({"name": "Release Review (v2 \u2022 Evidence-Driven)"}, {"name": "Release Review (v2)"})
    good = ({"name": "Release Review"}, {"name": "Release Review (Lean)"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        name = workflow.model.name
        match = _DECORATION.search(name) if len(name) < 1000 else None
        if match is not None:
            what = "a version" if match[0].startswith("(") else quoted(match[0])
            report(
                "/name",
                f"the name {excerpt(name)} contains {what}; shorten it and move the rest to `description`",
            )
