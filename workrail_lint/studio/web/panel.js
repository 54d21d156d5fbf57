// What is known about one step, or about the whole workflow when no step is chosen.

import { h, icon, link, copyable } from "./dom.js";
import { callsOf, changesOf, costWords, goalsOf, survivorsOf } from "./layers.js";
import { addressOf, data, runAddress, runOfTest, runsOf, state, whyOf, workflows } from "./store.js";
import { counted, json, size, wordDiff } from "./words.js";

const WRITERS = new Map([["authored", "A"], ["normalized", "A"], ["template", "T"], ["feature", "F"], ["ref", "R"],
  ["contract", "C"], ["virtual", "E"], ["engine", "E"]]);
const WRITER_WORDS = new Map([["authored", "authored"], ["normalized", "authored"], ["template", "from a template"], ["feature", "feature"],
  ["ref", "ref"], ["contract", "contract"], ["virtual", "made by the compiler"], ["engine", "engine"]]);

const builtins = new Set(data.catalog.map((/** @type {any} */ item) => item.id));

/** A part of a panel, below its title. @param {string} title @param {...any} children */
export function section(title, ...children) {
  return h("section", { class: "part" }, h("h3", {}, title), ...children);
}

/** A part of a page. @param {string} title @param {...any} children */
export function chapter(title, ...children) {
  return h("section", { class: "part" }, h("h2", { class: "chapter" }, title), ...children);
}

/** A text in pieces, each with who wrote it. @param {[string, string | null, string][]} pieces */
export function piecesOf(pieces) {
  const kinds = new Map();
  const rows = rowsOf(pieces).map(([kind, ident, text]) => {
    kinds.set(`${kind} ${ident ?? ""}`, [kind, ident]);
    return h("div", { class: `piece p-${kind === "normalized" ? "authored" : kind}`, title: `${WRITER_WORDS.get(kind) ?? kind}${ident ? `: ${ident}` : ""}` },
      h("b", { class: "writer", "aria-hidden": "true" }, WRITERS.get(kind) ?? "?"), h("div", { class: "piece-text" }, text));
  });
  const legend = [...kinds.values()].map(([kind, ident]) => h("span", { class: `legend p-${kind === "normalized" ? "authored" : kind}` },
    h("b", {}, WRITERS.get(kind) ?? "?"), " ", WRITER_WORDS.get(kind) ?? kind, ident ? [" ", builtins.has(ident) ? link(`~catalog/${encodeURIComponent(ident)}`, {}, h("code", {}, ident)) : h("code", {}, ident)] : null));
  return [h("div", { class: "text-box" }, rows.length ? rows : h("p", { class: "empty" }, "no text")), h("p", { class: "legends" }, legend)];
}

/**
 * Rows to show: the mark of a list item stands beside its text, neighbours by the same writer are one row, and no row
 * begins or ends with an empty line.
 * @param {[string, string | null, string][]} pieces @returns {[string, string | null, string][]}
 */
function rowsOf(pieces) {
  /** @type {[string, string | null, string][]} */
  const rows = [];
  let carried = "";
  pieces.forEach(([kind, ident, text], number) => {
    const whole = carried + text;
    carried = number < pieces.length - 1 ? /(?:^|\n)((?:- |\d+\. ))$/u.exec(whole)?.[1] ?? "" : "";
    const own = whole.slice(0, whole.length - carried.length);
    if (!own.trim()) return;
    const last = rows[rows.length - 1];
    if (last && last[0] === kind && last[1] === ident) last[2] += `\n${own}`;
    else rows.push([kind, ident, own]);
  });
  return rows.map(([kind, ident, text]) => [kind, ident, text.replace(/^\n+|\n+$/gu, "")]);
}

/** @param {any} workflow @param {any} step */
export function stepPanel(workflow, step) {
  const number = workflow.steps.indexOf(step) + 1;
  const changes = changesOf(workflow, step.id);
  return h("div", { class: "panel-body" },
    link(addressOf(workflow), { class: "button small back" }, icon("left"), "All steps"),
    h("p", { class: "eyebrow" }, step.loop ? [icon("loop"), " ", workflow.stepById.get(step.loop)?.title ?? step.loop, " › "] : null, `step ${number} of ${workflow.steps.length}`),
    h("h2", { tabindex: -1, id: "step-title" }, step.title),
    h("p", { class: "tags" }, h("code", { class: "tag" }, step.id), h("span", { class: "tag" }, WRITER_WORDS.get(step.writer) ?? step.writer),
      step.badges.map((/** @type {any} */ badge) => h("span", { class: `tag g-${badge.kind}` }, icon(badge.kind), badge.text)),
      h("span", { class: "tag" }, `notes ${step.notes}`),
      step.source ? h("code", { class: "tag" }, `${workflow.path.split("/").pop()}:${step.source.line}`) : null),
    step.condition ? h("p", { class: "note" }, "runs if ", h("strong", {}, step.condition)) : null,
    repeats(workflow, step),
    texts(workflow, step, changes),
    delegations(step),
    findings(workflow.findings.filter((/** @type {any} */ finding) => finding.step === step.id)),
    step.guidance.length ? section("Guidance", h("ul", { class: "guidance" }, step.guidance.map((/** @type {string} */ line) => h("li", {}, line)))) : null,
    variables(workflow, step),
    contract(workflow, step),
    assessments(workflow, step),
    goals(workflow, step),
    step.blockers.length ? section("Can be blocked by", h("p", { class: "tags" }, step.blockers.map((/** @type {string} */ code) => h("code", { class: "tag" }, code)))) : null,
    survivors(workflow, step),
    cost(workflow, step),
    sessions(workflow, step));
}

/** How often a loop runs. @param {any} workflow @param {any} step */
function repeats(workflow, step) {
  const frame = step.type === "loop" ? workflow.layout.groups.find((/** @type {any} */ group) => group.id === step.id) : null;
  return frame ? h("p", { class: "note" }, icon("loop"), " repeats ", h("strong", {}, frame.note), `, at most ${counted(frame.bound, "round")}`) : null;
}

/** What runs at the same time. @param {any} step */
function delegations(step) {
  if (!step.delegations?.length) return null;
  return section("Runs at the same time", h("dl", { class: "form even" }, step.delegations.map((/** @type {any} */ item) => [h("dt", {}, workflows.has(item.workflowId) ? link(addressOf(workflows.get(item.workflowId)), {}, item.workflowId) : h("code", {}, item.workflowId ?? "")),
    h("dd", {}, item.goal ?? "", Object.entries(item).filter(([name]) => name !== "workflowId" && name !== "goal").map(([name, value]) => h("p", { class: "note" }, `${name} `, h("code", {}, typeof value === "string" ? value : JSON.stringify(value)))))])));
}

/** @param {any} workflow @param {any} step @param {any[]} changes */
function texts(workflow, step, changes) {
  /** @type {[string, string][]} */
  const tabs = [["source", "Source"]];
  // Loops and parallel steps have no text of their own; of the latter the engine makes one.
  if (step.pieces.length) tabs.push(["compiled", "Compiled"]);
  if (step.type !== "loop") tabs.push(["run", "At run time"]);
  if (changes.length) tabs.push(["change", "Change"]);
  const chosen = tabs.some(([name]) => name === state.text) ? state.text : step.pieces.length ? "compiled" : "source";
  const length = step.pieces.reduce((/** @type {number} */ sum, /** @type {any} */ piece) => sum + piece[2].length, 0);
  return h("div", {},
    h("div", { class: "row" }, h("div", { class: "tabs", role: "group", "aria-label": "Text" }, tabs.map(([name, title]) =>
      h("button", { type: "button", "aria-pressed": String(name === chosen), "data-text": name }, title))),
    length ? h("span", { class: "note" }, counted(length, "character")) : null),
    chosen === "source" ? sourceText(step) : chosen === "run" ? runText(workflow, step) : chosen === "change" ? changeText(changes) : compiledText(step));
}

/** @param {any} step */
function compiledText(step) {
  return [...piecesOf(step.pieces), (step.fragments ?? []).map((/** @type {any} */ fragment) =>
    h("div", { class: "fragment" }, h("p", { class: "note" }, icon("fragments"), " added ", fragment.when ? ["if ", h("strong", {}, fragment.when)] : "always"), h("div", { class: "text-box padded" }, fragment.text)))];
}

/** @param {any} step */
function sourceText(step) {
  if (!step.source) return h("p", { class: "empty" }, "made by the compiler: no source of its own");
  const indent = new RegExp(`^ {0,${step.source.indent}}`, "u");
  const whole = step.source.text.replace("\u0001", () => JSON.stringify(step.pieces.map((/** @type {any} */ piece) => piece[2]).join("")));
  const lines = whole.split("\n").map((/** @type {string} */ line, /** @type {number} */ n) => (n ? line.replace(indent, "") : line));
  return h("pre", { class: "source" }, lines.map((/** @type {string} */ line, /** @type {number} */ n) =>
    h("span", { class: "line" }, h("span", { class: "number", "aria-hidden": "true" }, String(step.source.line + n)), `${line}\n`)));
}

/** What an agent reads: from a recorded run where there is one, else with sample values. @param {any} workflow @param {any} step */
function runText(workflow, step) {
  for (const run of runsOf(workflow).sort((a, b) => Number(a.stale) - Number(b.stale))) {
    const moment = run.turns.findIndex((/** @type {any} */ turn) => turn.step === step.id && turn.prompt);
    if (moment >= 0) {
      return [...piecesOf(run.turns[moment].prompt), h("p", { class: "note" }, "as in the run ", link(runAddress(run.key, moment), {}, run.name),
        run.stale ? " (of another version of this workflow)" : null)];
    }
  }
  const samples = new Map(Object.entries(step.samples ?? {}));
  const filled = step.pieces.map((/** @type {[string, string | null, string]} */ [kind, ident, text]) =>
    [kind, ident, text.replace(/\{\{\s*([A-Za-z_]\w*)[^{}]*\}\}/gu, (whole, name) => samples.get(name) ?? whole)]);
  return [...piecesOf(filled), h("p", { class: "note" }, "with sample values; no recorded run shows this step")];
}

/** @param {any[]} changes */
function changeText(changes) {
  return changes.map((change) => {
    if (change.kind !== "changed") {
      const where = change.kind === "moved" ? `: was after ${change.followed ?? "the start"}, is now after ${change.follows ?? "the start"}` : change.kind === "renamed" ? ` from ${change.from}` : "";
      return h("p", {}, `${change.kind}${where}`);
    }
    return h("div", {}, h("p", { class: "note" }, change.facet), sideBySide(asText(change.before), asText(change.after)));
  });
}

/** @param {unknown} value */
function asText(value) {
  return typeof value === "string" ? value : value === null || value === undefined ? "" : json(value);
}

/** Two texts with the words that differ marked. @param {string} before @param {string} after @param {[string, string]} [titles] */
export function sideBySide(before, after, titles = ["before", "now"]) {
  const pieces = wordDiff(before, after);
  const side = (/** @type {"gone" | "come"} */ kind, /** @type {string} */ title) => h("div", { class: "side" }, h("div", { class: "side-head" }, title),
    h("div", { class: "side-text" }, (kind === "gone" ? before : after) ? pieces.filter((piece) => piece.kind === "same" || piece.kind === kind)
      .map((piece) => (piece.kind === "same" ? piece.text : h(kind === "gone" ? "del" : "ins", {}, piece.text))) : h("span", { class: "note" }, "nothing")));
  const isJson = [before, after].every((text) => !text || /^[[{]/u.test(text));
  return h("div", { class: `sides${isJson ? " is-json" : ""}` }, side("gone", titles[0]), side("come", titles[1]));
}

/** @param {any[]} found */
export function findings(found) {
  if (!found.length) return null;
  return section("Findings", found.map((finding) => h("details", { class: `finding f-${finding.severity}`, open: found.length < 4 },
    h("summary", {}, icon(finding.severity, finding.severity), h("code", {}, finding.code), " ", finding.message),
    whyOf(finding) ? h("p", {}, whyOf(finding)) : null,
    finding.fix ? h("p", {}, icon("check"), ` ${finding.fix.title} (${finding.fix.safety} fix)`) : null,
    h("p", { class: "note" }, `line ${finding.range.start.line}, column ${finding.range.start.column}`))));
}

/** @param {string} name @param {any} workflow */
export function variableButton(name, workflow) {
  const known = workflow.varByName.get(name);
  return h("button", { type: "button", class: `variable${state.variable === name ? " chosen" : ""}`, "data-variable": name, "aria-pressed": String(state.variable === name),
    title: known?.values ? `one of ${known.values.map(json).join(", ")}` : "" }, name);
}

/** @param {any} workflow @param {any} step */
function variables(workflow, step) {
  if (!step.reads.length && !step.sets.length) return null;
  const list = (/** @type {string[]} */ names) => (names.length ? names.map((name) => variableButton(name, workflow)) : h("span", { class: "note" }, "nothing"));
  return h("div", { class: "two" }, section("Reads", list(step.reads)), section("Sets", list(step.sets)));
}

/** @param {any} workflow @param {any} step */
function contract(workflow, step) {
  if (!step.contract) return null;
  const pack = new Map(Object.entries(workflow.contracts)).get(step.contract.ref);
  return section(`Submits ${step.contract.ref}`, pack ? schemaForm(pack.schema, pack.example) : null,
    h("p", { class: "note" }, step.contract.required === false ? "optional" : "required", "; * a required member, marked: the example"));
}

/** An object schema as a form to read. @param {any} schema @param {any} example @param {number} [depth] @returns {HTMLElement} */
export function schemaForm(schema, example, depth = 0) {
  const members = Object.entries(schema?.properties ?? {});
  if (!members.length || depth > 3) return h("pre", { class: "source" }, json(schema));
  return h("dl", { class: `form d${depth}` }, members.map(([name, member]) => {
    const value = example && Object.hasOwn(example, name) ? example[name] : undefined;
    const inner = member?.items?.properties ? member.items : member?.properties ? member : null;
    return [h("dt", {}, h("code", {}, name), schema.required?.includes(name) ? h("b", { class: "star", title: "required" }, "*") : null),
      h("dd", {}, memberWords(member, value), inner && depth < 3 ? schemaForm(inner, Array.isArray(value) ? value[0] : value, depth + 1) : null)];
  }));
}

/** @param {any} member @param {unknown} value */
function memberWords(member, value) {
  const choices = member?.const !== undefined ? [member.const] : member?.enum;
  if (choices) return choices.map((/** @type {unknown} */ choice) => h("span", { class: `choice${choice === value ? " chosen" : ""}` }, asText(choice)));
  const kind = Array.isArray(member?.type) ? member.type.join(" or ") : member?.type ?? "any value";
  const words = kind === "array" ? `list of ${member.items?.type ?? "values"}s` : kind;
  const limits = [member?.maxLength ? `at most ${member.maxLength} characters` : "", member?.pattern ? `like ${member.pattern}` : ""].filter(Boolean);
  const plain = value === undefined || typeof value === "object" ? null : h("code", { class: "example" }, json(value));
  return [plain, plain ? " · " : null, h("span", { class: "note" }, [words, ...limits].join(", "))];
}

/** @param {any} workflow @param {any} step */
function assessments(workflow, step) {
  const refs = step.assessments?.refs ?? [];
  if (!refs.length) return null;
  return section("Assessed by", refs.map((/** @type {string} */ ref) => {
    const found = workflow.assessments.find((/** @type {any} */ item) => item.id === ref);
    return h("div", {}, h("p", {}, h("code", {}, ref), found?.purpose ? ` ${found.purpose}` : ""), h("dl", { class: "form" }, (found?.dimensions ?? []).map((/** @type {any} */ dimension) => [
      h("dt", {}, h("code", {}, dimension.id)), h("dd", {}, (dimension.levels ?? []).map((/** @type {any} */ level) => h("span", { class: "choice" }, asText(level))))])));
  }));
}

/** @param {any} workflow @param {any} step */
function goals(workflow, step) {
  if (!workflow.coverage) return null;
  const points = goalsOf(workflow, step.id);
  if (!points.length) return null;
  const shown = points.filter((/** @type {any} */ point) => point.tests.length).length;
  return section("Goals", h("p", { class: "note" }, `${shown} of ${points.length} shown`), h("ul", { class: "goals" }, points.map((/** @type {any} */ point) => goalRow(workflow, point))));
}

/** @param {any} workflow @param {any} point */
export function goalRow(workflow, point) {
  const tests = point.tests.map((/** @type {number} */ number) => workflow.coverage.tests[number]);
  return h("li", {}, h("details", {}, h("summary", {}, tests.length ? icon("check", "shown") : icon("missing", "not shown"), ` ${point.kind} `, h("strong", {}, point.case),
    h("span", { class: "note" }, tests.length ? counted(tests.length, "test") : "no test shows it")),
  h("ul", {}, tests.map((/** @type {string} */ test) => {
    const run = runOfTest(test);
    return h("li", {}, run ? link(runAddress(run.key), {}, run.name) : h("code", {}, test));
  }))));
}

/** @param {any} workflow @param {any} step */
function survivors(workflow, step) {
  const found = survivorsOf(workflow, step.id);
  if (!found.length) return null;
  return section("Changes that no test notices", h("ul", { class: "plain" }, found.map((/** @type {any} */ mutant) =>
    h("li", {}, h("code", { class: "tag" }, mutant.operator), " ", mutant.change, mutant.missing ? h("details", {}, h("summary", { class: "note" }, "a scenario that would notice"), h("pre", { class: "source" }, asText(mutant.missing))) : null))));
}

/** What a step costs: the bytes of its prompt by who wrote them, and how often it is submitted. @param {any} workflow @param {any} step */
function cost(workflow, step) {
  if (!step.bytes) return null;
  const by = new Map();
  const encoder = new TextEncoder();
  for (const [kind, , text] of step.pieces) by.set(WRITER_WORDS.get(kind) ?? kind, (by.get(WRITER_WORDS.get(kind) ?? kind) ?? 0) + encoder.encode(text).length);
  const read = (workflow.cost?.cost?.dearestSteps ?? []).find((/** @type {any} */ item) => item.step === step.id);
  const calls = callsOf(workflow).get(step.id);
  return section("Cost", h("dl", { class: "form" }, h("dt", {}, "prompt"), h("dd", {}, size(step.bytes), by.size > 1 ? h("span", { class: "note" }, ` (${[...by].map(([kind, bytes]) => `${kind} ${size(bytes)}`).join(", ")})`) : null),
    read ? [h("dt", {}, "read in one run"), h("dd", {}, `up to ${size(read.bytes)}, about ${counted(read.tokens, "token")}`)] : null,
    calls ? [h("dt", {}, "calls"), h("dd", {}, `${calls} in ${counted(runsOf(workflow).length, "recorded run")}`)] : null));
}

/** What the counts of a session report are called. @type {[string, string][]} */
const COUNTS = [["visits", "arrived"], ["calls", "submitted"], ["passed", "passed"], ["blocked", "blocked"], ["abandoned", "gave up here"], ["retries", "tried again"], ["mostTries", "most tries"], ["gates", "waited for a person"], ["skipped", "skipped"]];

/** @param {any} workflow @param {any} step */
function sessions(workflow, step) {
  const entry = (workflow.sessions?.steps ?? []).find((/** @type {any} */ item) => String(item.step).split("/").pop() === step.id);
  if (!entry) return null;
  return section("Sessions", workflow.sessions.stale ? h("p", { class: "note" }, "of another version of this workflow") : null, h("dl", { class: "form" }, COUNTS.filter(([name]) => entry[name]).map(([name, words]) => [h("dt", {}, words), h("dd", {}, asText(entry[name]))]),
    Object.entries(entry.blockers ?? {}).map(([code, count]) => [h("dt", {}, h("code", {}, code)), h("dd", {}, asText(count))])));
}

/** @param {any} workflow */
export function workflowPanel(workflow) {
  // A template call is no step of the compiled workflow: what is wrong with it has its place here.
  const whole = workflow.findings.filter((/** @type {any} */ finding) => !workflow.stepById.has(finding.step));
  return h("div", { class: "panel-body" },
    h("p", { class: "eyebrow" }, counted(workflow.steps.length, "step")),
    h("h2", { tabindex: -1, id: "step-title" }, workflow.name),
    workflow.about ? (workflow.about.length > 400 ? h("details", { class: "about-box" }, h("summary", {}, `${workflow.about.replace(/^#+[^\n]*\n+/u, "").slice(0, 300).replace(/[#*`]+/gu, "").replace(/\s+\S*$/u, "")} …`), h("div", { class: "about-text" }, workflow.about)) : h("p", { class: "about-text" }, workflow.about)) : null,
    h("p", { class: "tags" }, h("code", { class: "tag" }, workflow.path), (workflow.features ?? []).map((/** @type {string} */ feature) => h("code", { class: "tag p-feature" }, feature))),
    workflow.hash ? null : h("p", { class: "finding f-error" }, icon("error"), " This workflow does not compile, so there is no graph. Its findings say why."),
    findings(state.layer === "findings" || !workflow.hash ? workflow.findings : whole),
    workflow.vars.length ? section("Variables", h("ul", { class: "plain variables" }, workflow.vars.map((/** @type {any} */ item) => h("li", {}, variableButton(item.name, workflow),
      item.values ? item.values.map((/** @type {unknown} */ value) => h("span", { class: "choice" }, asText(value))) : null,
      h("p", { class: "note" }, "set by ", item.set.length ? stepLinks(workflow, item.set) : item.given ? "the engine" : "nothing", "; read by ", item.read.length ? stepLinks(workflow, item.read) : "nothing"))))) : null,
    coverageSummary(workflow),
    removedSteps(workflow),
    workflowSurvivors(workflow),
    costWords(workflow.cost).length ? section("What a run costs", costWords(workflow.cost).map((line) => h("p", {}, line))) : null,
    workflow.sessions?.mend?.length ? section("What sessions stumble over", workflow.sessions.stale ? h("p", { class: "note" }, "of another version of this workflow") : null, h("ul", { class: "plain" }, workflow.sessions.mend.map((/** @type {string} */ line) => h("li", {}, icon("warning"), " ", line)))) : null,
    runsOf(workflow).length ? section("Runs", h("ul", { class: "plain" }, runsOf(workflow).map((run) => h("li", {}, link(runAddress(run.key), {}, run.name), h("span", { class: "note" }, ` ${run.kind === "session" ? "session, " : ""}${String(run.status ?? "not ended").replace(/_/gu, " ")}${run.stale ? ", another version" : ""}`))))) : null);
}

/** @param {any} workflow @param {string[]} steps */
function stepLinks(workflow, steps) {
  return steps.map((step, number) => [number ? ", " : null, link(addressOf(workflow, step), {}, step)]);
}

/** @param {any} workflow */
function coverageSummary(workflow) {
  if (!workflow.coverage) return section("Coverage", h("p", { class: "note" }, "not run; show it with"), copyable("pytest --workrail-cov-json=coverage.json"));
  const { kinds, points, stale } = workflow.coverage;
  const missing = points.filter((/** @type {any} */ point) => !point.tests.length);
  return section("Coverage", stale ? h("p", { class: "note" }, "of another version of this workflow") : null,
    h("dl", { class: "form" }, Object.entries(kinds ?? {}).map(([name, score]) => [h("dt", {}, `${name}s`), h("dd", {}, `${score.covered} of ${score.points}`)])),
    missing.length ? h("details", {}, h("summary", {}, counted(missing.length, "goal"), " not shown"), h("ul", { class: "goals" }, missing.map((/** @type {any} */ point) =>
      h("li", {}, icon("missing", "not shown"), ` ${point.kind} `, h("code", {}, point.place), " ", h("strong", {}, point.case))))) : null);
}

/** Steps that are gone, where they were. @param {any} workflow */
function removedSteps(workflow) {
  const list = workflow.changes?.list ?? [];
  const gone = list.filter((/** @type {any} */ change) => change.kind === "removed");
  const own = list.filter((/** @type {any} */ change) => !change.step);
  if (!gone.length && !own.length) return null;
  return section("Changes", gone.map((/** @type {any} */ change) => h("p", {}, h("del", {}, change.step), ` removed${change.followed ? `, was after ${change.followed}` : ", was the first step"}`)), changeText(own));
}

/** @param {any} workflow */
function workflowSurvivors(workflow) {
  const found = (workflow.mutation?.survived ?? []);
  if (!found.length || state.layer !== "mutants") return null;
  return section("Changes that no test notices", h("ul", { class: "plain" }, found.map((/** @type {any} */ mutant) =>
    h("li", {}, h("code", { class: "tag" }, mutant.operator), " ", h("code", {}, mutant.place), " ", mutant.change))));
}
