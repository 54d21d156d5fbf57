// The panel beside the graph: a step with its texts, or the workflow as a whole; and what other views show alike.

import { choices, copyable, h, icon, link } from "./dom.js";
import { layerName, layerOf, layersOf, changesOf, costWords, RANKS } from "./layers.js";
import { placeLink } from "./live.js";
import { addressOf, data, here, runAddress, runsOf, state, workflows } from "./store.js";
import { asText, counted, json, wordDiff } from "./words.js";

/** @typedef {import("../../../tools/studio/page").Workflow} Workflow */
/** @typedef {import("../../../tools/studio/page").Step} Step */
/** @typedef {import("../../../tools/studio/page").Piece} Piece */
/** @typedef {import("../../../tools/studio/page").Finding} Finding */
/** @typedef {import("../../../tools/studio/page").Change} Change */

// Who wrote a part of a prompt: a letter, and the word for it.
/** @type {Map<string, [string, string]>} */
const WRITERS = new Map([["authored", ["A", "authored"]], ["normalized", ["A", "authored"]], ["template", ["T", "from a template"]], ["feature", ["F", "feature"]], ["ref", ["R", "ref"]],
  ["contract", ["C", "contract"]], ["virtual", ["E", "made by the compiler"]], ["engine", ["E", "engine"]], ["unknown", ["?", "origin unknown"]]]);
const builtins = new Set(data.catalog.map((item) => item.id));

/** @param {string} kind */
function writerOf(kind) {
  return WRITERS.get(kind) ?? ["?", kind];
}

/** @param {string} title @param {...any} children */
export function section(title, ...children) {
  return h("section.part", h("h3", title), ...children);
}

/** A part of a page that has no panel. @param {string} title @param {...any} children */
export function chapter(title, ...children) {
  return h("section.part", h("h2.chapter", title), ...children);
}

/** A prompt with who wrote each part. @param {Piece[]} pieces */
export function piecesOf(pieces) {
  /** @type {Map<string, [string, string | null]>} */
  const kinds = new Map();
  const tone = (/** @type {string} */ kind) => `p-${kind === "normalized" ? "authored" : kind}`;
  const rows = rowsOf(pieces).map(([kind, ident, text]) => {
    kinds.set(`${writerOf(kind)[1]} ${ident ?? ""}`, [kind, ident]);
    return h("div.piece", { class: tone(kind), title: `${writerOf(kind)[1]}${ident ? `: ${ident}` : ""}` },
      h("b.writer", { "aria-hidden": "true" }, writerOf(kind)[0]), h("div.piece-text", text));
  });
  const name = (/** @type {string} */ ident) => [" ", builtins.has(ident) ? link(`~catalog/${encodeURIComponent(ident)}`, h("code", ident)) : h("code", ident)];
  const legend = [...kinds.values()].map(([kind, ident]) => h("span.legend", { class: tone(kind) }, h("b", writerOf(kind)[0]), " ", writerOf(kind)[1], ident ? name(ident) : null));
  return [h("div.text-box", rows.length ? rows : h("p.empty", "no text")), h("p.legends", legend)];
}

/** Neighbours of one origin are one row; a list mark belongs to what it marks. @param {Piece[]} pieces @returns {Piece[]} */
function rowsOf(pieces) {
  /** @type {Piece[]} */
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

/** @param {Workflow} workflow @param {Step} step */
export function stepPanel(workflow, step) {
  const changes = changesOf(workflow, step.id);
  return h("div.panel-body",
    link(addressOf(workflow), { class: "button small back" }, icon("left"), "All steps"),
    h("p.eyebrow", step.loop ? [icon("loop"), " ", workflow.stepById.get(step.loop)?.title ?? step.loop, " › "] : null, `step ${(workflow.order.get(step.id) ?? 0) + 1} of ${workflow.steps.length}`),
    h("h2", { tabindex: -1, id: "step-title" }, step.title),
    h("p.tags", h("code.tag", step.id), h("span.tag", writerOf(step.writer)[1]), step.badges.map((badge) => h("span.tag", { class: `g-${badge.kind}` }, icon(badge.kind), badge.text)),
      h("span.tag", `notes ${step.notes}`), step.source ? placeLink(workflow.path, step.source.line) : null),
    step.condition ? h("p.note", "runs if ", h("strong", step.condition)) : null,
    repeats(workflow, step),
    otherLayers(workflow, step),
    texts(workflow, step, changes),
    delegations(step),
    findingsOf(workflow.findings.filter((finding) => finding.step === step.id)),
    step.guidance.length ? section("Guidance", h("ul.guidance", step.guidance.map((line) => h("li", line)))) : null,
    variables(workflow, step),
    contract(workflow, step),
    assessments(workflow, step),
    step.blockers.length ? section("Can be blocked by", h("p.tags", step.blockers.map(codeLink))) : null);
}

/** A code of the engine or of a rule. @param {string} code */
export function codeLink(code) {
  return link(`~rule/${encodeURIComponent(code)}`, { class: "tag tag-link" }, h("code", code));
}

/** What decides a loop, and how often it runs. @param {Workflow} workflow @param {Step} step */
function repeats(workflow, step) {
  const frame = step.type === "loop" ? workflow.layout?.groups.find((group) => group.id === step.id) : null;
  return frame ? h("p.note", icon("loop"), " repeats ", h("strong", frame.note), frame.bound === null ? null : `, at most ${counted(frame.bound, "round")}`) : null;
}

/** What the other layers say about a step. @param {Workflow} workflow @param {Step} step */
function otherLayers(workflow, step) {
  const marks = layersOf(workflow).flatMap(([name]) => {
    const mark = name === "flow" ? undefined : layerOf(workflow, name).marks.get(step.id);
    return mark ? [link(addressOf(workflow, step.id, { layer: name, item: null }), { class: `tag tag-link t-${mark.tone}` }, `${layerName(name)}: ${mark.text}`)] : [];
  });
  return marks.length ? h("p.tags.also", marks) : null;
}

/** What a parallel step starts. @param {Step} step */
function delegations(step) {
  if (!step.delegations?.length) return null;
  const fact = (/** @type {[string, any]} */ [name, value]) => h("p.note", `${name} `, h("code", typeof value === "string" ? value : JSON.stringify(value)));
  return section("Runs at the same time", h("dl.form.even", step.delegations.map((item) => {
    const started = workflows.get(item.workflowId);
    return [h("dt", started ? link(addressOf(started), item.workflowId) : h("code", item.workflowId ?? "")),
      h("dd", item.goal ?? "", Object.entries(item).filter(([name]) => name !== "workflowId" && name !== "goal").map(fact))];
  })));
}

/** The texts of a step, one at a time. @param {Workflow} workflow @param {Step} step @param {Change[]} changes */
function texts(workflow, step, changes) {
  const tabs = [["source", "Source"]];
  if (step.pieces.length) tabs.push(["compiled", "Compiled"]);
  if (step.type !== "loop") tabs.push(["run", "At run time"]);
  if (changes.length) tabs.push(["change", "Change"]);
  const chosen = tabs.some(([name]) => name === state.text) ? state.text : step.pieces.length ? "compiled" : "source";
  const length = step.pieces.reduce((sum, piece) => sum + piece[2].length, 0);
  return h("div",
    h("div.row", choices("Text", chosen, (text) => here({ text }), tabs.map(([value, title]) => ({ value, title }))), length ? h("span.note", counted(length, "character")) : null),
    chosen === "source" ? sourceText(workflow, step) : chosen === "run" ? runText(workflow, step) : chosen === "change" ? changeText(changes) : compiledText(step));
}

/** @param {Step} step */
function compiledText(step) {
  return [...piecesOf(step.pieces), (step.fragments ?? []).map((fragment) =>
    h("div.fragment", h("p.note", icon("fragments"), " added ", fragment.when ? ["if ", h("strong", fragment.when)] : "always"), h("div.text-box.padded", fragment.text)))];
}

/** A step as its file has it. What else the data knows is put back: parts of the prompt or lines of one, and the steps of a loop. @param {Workflow} workflow @param {Step} step @returns {string} */
function writtenText(workflow, { pieces, source }) {
  const part = (/** @type {string} */ number, /** @type {string | undefined} */ line) => (line === undefined ? pieces[Number(number)][2] : pieces[Number(number)][2].split("\n")[Number(line)].replace(/^(?:- |\d+\. )/u, ""));
  const inner = (/** @type {string} */ ident) => workflow.stepById.get(ident) ?? { pieces: [], source: null };
  return (source?.text ?? "").replace(/\u0001(\d+)(?:\/(\d+))?\u0001/gu, (_, number, line) => JSON.stringify(part(number, line)).slice(1, -1))
    .replace(/\u0002([^\u0002]*)\u0002/gu, (_, ident) => writtenText(workflow, /** @type {Step} */ (inner(ident))));
}

/** The lines of a step in its file, each with its number. @param {Workflow} workflow @param {Step} step @returns {[number, string][]} */
export function sourceLines(workflow, step) {
  const { source } = step;
  if (!source) return [];
  const indent = new RegExp(`^ {0,${source.indent}}`, "u");
  return writtenText(workflow, step).split("\n").map((line, at) => [source.line + at, at ? line.replace(indent, "") : line]);
}

/** Numbered lines, of which one may be marked. @param {[number, string][]} lines @param {number} [marked] @param {string} [kind] */
export function numbered(lines, marked, kind = "") {
  return h("pre.source", { class: kind, tabindex: 0 }, lines.map(([number, text]) =>
    h("span.line", { class: number === marked ? "marked" : "" }, h("span.number", { "aria-hidden": "true" }, String(number)), `${text}\n`)));
}

/** Some lines of a file. @param {import("../../../tools/studio/page").Excerpt | undefined} excerpt @param {number} [marked] */
export function excerptOf(excerpt, marked) {
  return excerpt ? numbered(excerpt.lines.map((text, at) => [excerpt.first + at, text]), marked, "excerpt") : null;
}

/** @param {Workflow} workflow @param {Step} step */
function sourceText(workflow, step) {
  return step.source ? numbered(sourceLines(workflow, step)) : h("p.empty", "made by the compiler: no source of its own");
}

/** What an agent read at this step in a recorded run, else the prompt with sample values. @param {Workflow} workflow @param {Step} step */
function runText(workflow, step) {
  for (const run of [...runsOf(workflow)].sort((a, b) => Number(a.stale) - Number(b.stale))) {
    const moment = run.turns.findIndex((turn) => turn.step === step.id && turn.prompt);
    const { prompt } = run.turns[moment] ?? {};
    if (prompt) return [...piecesOf(prompt), h("p.note", "as in the run ", link(runAddress(run.key, moment), run.name), run.stale ? " (of another version of this workflow)" : null)];
  }
  const samples = new Map(Object.entries(step.samples ?? {}));
  const filled = step.pieces.map(([kind, ident, text]) => /** @type {Piece} */ ([kind, ident, text.replace(/\{\{\s*([A-Za-z_]\w*)[^{}]*\}\}/gu, (/** @type {string} */ whole, /** @type {string} */ name) => samples.get(name) ?? whole)]));
  return [...piecesOf(filled), h("p.note", "with sample values; no recorded run shows this step")];
}

/** @param {Change[]} changes */
function changeText(changes) {
  return changes.map((change) => {
    if (change.kind === "changed") return h("div", h("p.note", change.facet), oneColumn(asText(change.before), asText(change.after)));
    const where = change.kind === "moved" ? `: was after ${change.followed ?? "the start"}, is now after ${change.follows ?? "the start"}` : change.kind === "renamed" ? ` from ${change.from}` : "";
    return h("p", `${change.kind}${where}`);
  });
}

const MOST_UNCHANGED = 8;
const AROUND = 2;

/** Two texts as one: what is gone is struck, what is new underlined; long unchanged parts are folded. @param {string} before @param {string} after */
export function oneColumn(before, after) {
  if (!before || !after) return h("div.diff", { class: before ? "all-gone" : "all-new" }, h("span.hidden", before ? "gone: " : "new: "), before || after || h("span.note", "nothing"));
  return h("div.diff", wordDiff(before, after).map((piece, number, all) => {
    if (piece.kind !== "same") return h(piece.kind === "gone" ? "del" : "ins", piece.text);
    const lines = piece.text.split("\n");
    const [first, last] = [number ? AROUND : 0, number < all.length - 1 ? AROUND : 0];
    if (lines.length < MOST_UNCHANGED + first + last) return piece.text;
    return [lines.slice(0, first).join("\n"), h("details.fold", h("summary", `${lines.length - first - last} unchanged lines`), lines.slice(first, lines.length - last).join("\n")), lines.slice(lines.length - last).join("\n")];
  }));
}

/** @param {Finding[]} found */
export function findingsOf(found) {
  if (!found.length) return null;
  const sorted = [...found].sort((a, b) => (RANKS.get(a.severity) ?? 3) - (RANKS.get(b.severity) ?? 3) || a.range.start.line - b.range.start.line);
  return section("Findings", h("ul.plain.lines", sorted.map((finding) => h("li", { class: `sev-${finding.severity}` }, icon(finding.severity, finding.severity), " ",
    link(here({ layer: "findings", item: findingKey(finding), panel: null }), finding.code), " ", finding.message))));
}

/** @param {Finding} finding */
export function findingKey(finding) {
  return `${finding.code}:${finding.range.start.line}`;
}

/** @param {string} name @param {Workflow} workflow */
function variableLink(name, workflow) {
  const known = workflow.varByName.get(name);
  const isChosen = state.variable === name;
  return link(addressOf(workflow, state.step, { var: isChosen ? null : name }), { class: `variable${isChosen ? " chosen" : ""}`, "data-variable": name, "aria-current": isChosen ? "true" : null,
    title: known?.values ? `one of ${known.values.map(json).join(", ")}` : "" }, name);
}

/** @param {Workflow} workflow @param {Step} step */
function variables(workflow, step) {
  if (!step.reads.length && !step.sets.length) return null;
  const list = (/** @type {string[]} */ names) => (names.length ? names.map((name) => variableLink(name, workflow)) : h("span.note", "nothing"));
  return h("div.two", section("Reads", list(step.reads)), section("Sets", list(step.sets)));
}

/** @param {Workflow} workflow @param {Step} step */
function contract(workflow, step) {
  if (!step.contract) return null;
  const pack = new Map(Object.entries(workflow.contracts ?? {})).get(step.contract.ref);
  return section(`Submits ${step.contract.ref}`, pack ? schemaForm(pack.schema, pack.example) : null,
    h("p.note", step.contract.required === false ? "optional" : "required", "; * a required member, marked: the example"));
}

/** An object schema as a form to read. @param {any} schema @param {any} example @param {number} [depth] @returns {HTMLElement} */
export function schemaForm(schema, example, depth = 0) {
  const members = Object.entries(schema?.properties ?? {});
  if (!members.length || depth > 3) return h("pre.source", json(schema));
  return h("dl.form", { class: `d${depth}` }, members.map(([name, member]) => {
    const value = example && Object.hasOwn(example, name) ? example[name] : undefined;
    const inner = member?.items?.properties ? member.items : member?.properties ? member : null;
    return [h("dt", h("code", name), schema.required?.includes(name) ? h("b.star", { title: "required" }, "*") : null),
      h("dd", memberWords(member, value), inner && depth < 3 ? schemaForm(inner, Array.isArray(value) ? value[0] : value, depth + 1) : null)];
  }));
}

/** @param {any} member @param {unknown} value */
function memberWords(member, value) {
  const allowed = member?.const !== undefined ? [member.const] : member?.enum;
  if (allowed) return allowed.map((/** @type {unknown} */ choice) => h("span.choice", { class: choice === value ? "chosen" : "" }, asText(choice)));
  const kind = Array.isArray(member?.type) ? member.type.join(" or ") : member?.type ?? "any value";
  const words = kind === "array" ? `list of ${member.items?.type ?? "values"}s` : kind;
  const limits = [member?.maxLength ? `at most ${member.maxLength} characters` : "", member?.pattern ? `like ${member.pattern}` : ""].filter(Boolean);
  const plain = value === undefined || typeof value === "object" ? null : h("code.example", json(value));
  return [plain, plain ? " · " : null, h("span.note", [words, ...limits].join(", "))];
}

/** @param {Workflow} workflow @param {Step} step */
function assessments(workflow, step) {
  const refs = step.assessments?.refs ?? [];
  if (!refs.length) return null;
  return section("Assessed by", refs.map((ref) => {
    const found = workflow.assessments?.find((item) => item.id === ref);
    return h("div", h("p", h("code", ref), found?.purpose ? ` ${found.purpose}` : ""), h("dl.form", (found?.dimensions ?? []).map((/** @type {any} */ dimension) => [
      h("dt", h("code", dimension.id)), h("dd", (dimension.levels ?? []).map((/** @type {unknown} */ level) => h("span.choice", asText(level))))])));
  }));
}

const MOST_ABOUT = 400;

/** @param {Workflow} workflow */
export function workflowPanel(workflow) {
  const known = workflow.varByName.get(state.variable ?? "");
  const about = workflow.about ?? "";
  const short = about.replace(/^#+[^\n]*\n+/u, "").slice(0, 300).replace(/[#*`]+/gu, "").replace(/\s+\S*$/u, "");
  return h("div.panel-body",
    h("p.eyebrow", counted(workflow.steps.length, "step")),
    h("h2", { tabindex: -1, id: "step-title" }, workflow.name),
    known ? variableCard(workflow, known) : null,
    about.length > MOST_ABOUT ? h("details.about-box", h("summary", `${short} …`), h("div.about-text", about)) : h("p.about-text", about),
    h("p.tags", placeLink(workflow.path, 1), (workflow.features ?? []).map((feature) => link(`~catalog/${encodeURIComponent(feature)}`, { class: "tag tag-link p-feature" }, h("code", feature)))),
    // A template call is no step of the compiled workflow: what is wrong with it has its place here.
    findingsOf(workflow.findings.filter((finding) => !workflow.stepById.has(finding.step ?? ""))),
    workflow.vars.length ? section("Variables", h("ul.plain.variables", workflow.vars.map((item) => h("li", variableLink(item.name, workflow),
      (item.values ?? []).map((value) => h("span.choice", asText(value))), h("p.note", "set by ", item.set.length ? stepLinks(workflow, item.set) : item.given ? "the engine" : "nothing", "; read by ", item.read.length ? stepLinks(workflow, item.read) : "nothing"))))) : null,
    costWords(workflow.cost).length ? section("What a run costs", costWords(workflow.cost).map((line) => h("p", line))) : null,
    missingReports(workflow));
}

/** What a value of a variable decides. @param {Workflow} workflow @param {import("../../../tools/studio/page").Variable} known */
function variableCard(workflow, known) {
  const conditions = known.read.flatMap((ident) => {
    const step = workflow.stepById.get(ident);
    const when = [step?.condition ? `runs if ${step.condition}` : null, ...(step?.fragments ?? []).map((fragment) => (fragment.when ? `reads more if ${fragment.when}` : null))].filter(Boolean);
    return step ? [h("li", link(addressOf(workflow, ident), step.title), h("span.note", ` ${when.join("; ") || "reads its value"}`))] : [];
  });
  return h("section.golden-here", h("p.golden-head", icon("fragments"), h("strong", known.name), link(addressOf(workflow, null, { var: null }), "show all")),
    h("p", "Set by ", known.set.length ? stepLinks(workflow, known.set) : known.given ? "the engine" : "nothing", known.values ? [" to ", known.values.map((value) => h("span.choice", asText(value)))] : null),
    conditions.length ? h("ul.plain.lines", conditions) : h("p.note", "No step reads it."));
}

/** How to get what this page does not know. @param {Workflow} workflow */
function missingReports(workflow) {
  const commands = [[workflow.coverage, "Coverage of its steps and conditions", "pytest --workrail-cov-json=coverage.json"], [data.revision, "What changed", "workrail-lint studio --git main"],
    [workflow.mutation, "Changes that no test notices", `workrail-test mutate ${workflow.path} --json > mutation.json`], [workflow.cost, "What a run costs", `workrail-test generate ${workflow.path} --json > cost.json`]];
  const missing = commands.filter(([has]) => !has);
  return missing.length && !workflow.broken && !data.views ? section("Not measured", missing.map(([, title, command]) => h("div.act", h("span.note", title), copyable(String(command))))) : null;
}

/** @param {Workflow} workflow @param {string[]} steps */
export function stepLinks(workflow, steps) {
  return steps.map((step, number) => [number ? ", " : null, link(addressOf(workflow, step), step)]);
}
