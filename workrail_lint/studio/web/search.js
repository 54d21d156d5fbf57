// Search over everything that has an address, and commands. The index is made in pieces once the field is open.

import { h, icon, link } from "./dom.js";
import { layerName, layersOf } from "./layers.js";
import { firstMoment, isRed, sentenceOf } from "./outcomes.js";
import { addressOf, data, editsInOrder, here, runAddress, runs, state, workflows } from "./store.js";
import { counted } from "./words.js";

/** @typedef {{kind: string, icon: string, name: string, words: string, note: string, address: string, text?: string, act?: () => void}} Place */

const ORDER = ["Go to", "Workflows", "Steps", "Rules", "Codes", "Prompts", "Variables", "Goals", "Edits", "Runs", "Catalog"];
const MOST = 5;
const QUOTED = 34;

// Milliseconds of work at a time: the next key never waits long.
const SLICE = 5;

/** What is known so far. @type {Place[]} */
const found = [];
const making = pieces();
let isMade = false;

/** Go on with the index in pieces, and say so after the last one. @param {() => void} done */
function make(done) {
  const end = performance.now() + SLICE;
  do isMade = making.next().done === true; while (!isMade && performance.now() < end);
  if (isMade) done();
  else setTimeout(make, 0, done);
}

/** Everything that has an address, in pieces. */
function* pieces() {
  const add = (/** @type {string} */ kind, /** @type {string} */ picture, /** @type {string} */ name, /** @type {string} */ words, /** @type {string} */ note, /** @type {string} */ address, /** @type {string} */ text = "") => found.push({ kind, icon: picture, name, words: words.toLowerCase(), note, address, text });
  /** @type {Map<string, {name: string, message: string, count: number, in: Set<string>}>} */
  const rules = new Map();
  /** @type {Map<string, number>} */
  const codes = new Map();
  for (const workflow of workflows.values()) {
    // Not the address of the reader's layer: the index is made once.
    const to = (/** @type {string | null} */ step, /** @type {Record<string, string>} */ params = {}) => addressOf(workflow, step, { layer: null, var: null, text: null, of: null, fold: null, ...params });
    add("Workflows", "split", workflow.name, `${workflow.name} ${workflow.id} ${workflow.path}`, workflow.id, to(null));
    for (const step of workflow.steps) {
      add("Steps", "dot", step.title, `${step.title} ${step.id}`, `${workflow.name} · ${step.id}`, to(step.id));
      const text = step.pieces.map((piece) => piece[2]).join("") + (step.fragments ?? []).map((item) => ` ${item.text}`).join("") + step.guidance.map((line) => ` ${line}`).join("");
      if (text) add("Prompts", "text", step.title, text, workflow.name, to(step.id), text);
      for (const code of step.blockers) codes.set(code, (codes.get(code) ?? 0) + 1);
      yield;
    }
    for (const item of workflow.vars) add("Variables", "fragments", item.name, `${item.name} ${(item.values ?? []).join(" ")}`, `${workflow.name} · set in ${item.set.length}, read in ${item.read.length}`, to(null, { var: item.name }));
    for (const goal of workflow.coverage?.points ?? []) if (!goal.tests.length && goal.kind !== "blocker" && goal.kind !== "gap") add("Goals", "missing", `${goal.place}: ${goal.kind} ${goal.case}`, `goal ${goal.place} ${goal.kind} ${goal.case}`, `${workflow.name} · not shown`, to(goal.place.split(/[/#]/u).find((part) => workflow.stepById.has(part)) ?? null, { layer: "coverage" }));
    for (const finding of workflow.findings) {
      const rule = rules.get(finding.code) ?? { name: finding.name, message: finding.message, count: 0, in: new Set() };
      rule.count++;
      rule.in.add(workflow.name);
      rules.set(finding.code, rule);
    }
    yield;
  }
  for (const [code, rule] of rules) add("Rules", "rule", `${code} ${rule.name}`, `${code} ${rule.name} ${rule.message}`, `${counted(rule.count, "finding")} in ${counted(rule.in.size, "workflow")}`, `~rule/${encodeURIComponent(code)}`);
  for (const [code, count] of codes) add("Codes", "error", code, code, `can block ${counted(count, "step")}`, `~rule/${encodeURIComponent(code)}`);
  for (const edit of editsInOrder()) add("Edits", "change", edit.title, `${edit.title} ${edit.id}`, counted(edit.goldens.length, "golden"), `~goldens/${encodeURIComponent(edit.id)}`);
  for (const run of runs.values()) add("Runs", isRed(run) ? "cross" : run.outcome?.state === "changed" ? "change" : "play", run.name, `${run.name} ${run.path} ${run.outcome ? sentenceOf(run) : ""}`, isRed(run) ? "failed" : run.outcome?.state === "changed" ? "golden changed" : "", runAddress(run.key, firstMoment(run)));
  for (const item of data.catalog) add("Catalog", "file", item.id, `${item.id} ${item.title} ${item.summary}`, item.title, `~catalog/${encodeURIComponent(item.id)}`);
}

/** What a reader can do from here, in words. @param {[string, () => void][]} actions @returns {Place[]} */
function commands(actions) {
  const workflow = workflows.get(state.workflow ?? "");
  /** @type {[string, string][]} */
  const ways = workflow ? layersOf(workflow).filter(([name]) => name !== state.layer).map(([name]) => [`Layer: ${layerName(name)}`, here({ layer: name, item: null, panel: null })]) : [];
  ways.push(["Failed runs", "~runs?only=failed"], ["Edits to review", "~goldens"], ["Untested workflows", "?only=untested"], ["Workflows with errors", "?only=wrong"], ["Changed workflows", "?only=changed"]);
  return [...ways.map(([name, address]) => ({ kind: "Go to", icon: "right", name, words: name.toLowerCase(), note: "", address })), ...actions.map(([name, act]) => ({ kind: "Go to", icon: "bolt", name, words: name.toLowerCase(), note: "", address: "", act }))];
}

/** The words around a hit. @param {string} text @param {string} word */
function around(text, word) {
  const at = text.toLowerCase().indexOf(word);
  if (at < 0) return text.slice(0, 90);
  const from = Math.max(0, text.lastIndexOf(" ", Math.max(0, at - QUOTED)) + 1);
  return [from ? "… " : "", text.slice(from, at), h("mark", text.slice(at, at + word.length)), text.slice(at + word.length, at + word.length + 60)];
}

/** @param {() => void} close @param {[string, () => void][]} actions */
export function searchBox(close, actions) {
  const results = h("div.results", { role: "listbox", id: "results", "aria-label": "Results" });
  let at = 0;
  const mark = (/** @type {number} */ by) => {
    const links = [...results.querySelectorAll("a")];
    at = Math.max(0, Math.min(links.length - 1, at + by));
    links.forEach((item, number) => item.setAttribute("aria-selected", String(number === at)));
    links[at]?.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", links[at]?.id ?? "");
    return links[at];
  };
  let count = 0;
  const row = (/** @type {Place} */ item, /** @type {string[]} */ words) => link(item.address, { role: "option", class: "hit", id: `hit-${count++}`, "aria-selected": "false", tabindex: -1, onclick: (/** @type {Event} */ event) => { if (item.act) event.preventDefault(); close(); item.act?.(); } },
    icon(item.icon), h("span.hit-text", h("strong", item.name), item.text ? h("span.hit-quote", around(item.text, words[0])) : null), h("span.note", item.note));
  const show = (/** @type {string} */ text) => {
    const words = text.toLowerCase().split(/\s+/u).filter(Boolean);
    const rank = (/** @type {Place} */ item) => (words.length && item.name.toLowerCase().startsWith(words[0]) ? 0 : 2) + (state.workflow && item.address.startsWith(encodeURIComponent(state.workflow)) ? 0 : 1);
    const hits = [...commands(actions), ...(words.length ? found : [])].filter((item) => words.every((word) => item.words.includes(word)));
    const groups = ORDER.map((kind) => ({ kind, list: hits.filter((item) => item.kind === kind) })).filter(({ kind, list }) => list.length && (kind !== "Prompts" || words[0].length > 1));
    // The best hit of all comes first, so that Enter opens what was typed.
    const exact = (/** @type {Place[]} */ list) => (words.length && list.some((item) => item.name.toLowerCase() === text.trim().toLowerCase() || item.note.toLowerCase().endsWith(`· ${text.trim().toLowerCase()}`)) ? 0 : 1);
    groups.sort((a, b) => exact(a.list) - exact(b.list));
    [at, count] = [0, 0];
    results.replaceChildren(...groups.map(({ kind, list }) => h("div", { role: "group", "aria-label": kind }, h("p.group-head", { "aria-hidden": "true" }, kind, list.length > MOST ? h("span.count", `${list.length}, first ${MOST}`) : null),
      [...list].sort((a, b) => rank(a) - rank(b)).slice(0, MOST).map((item) => row(item, words)))));
    if (!groups.length) results.replaceChildren(h("p.empty", isMade ? "Nothing has these words." : "Still looking …"));
    mark(0);
  };
  const field = h("input.palette-field", { type: "search", placeholder: "Step, words of a prompt, code, variable, goal, run…", "aria-label": "Search", "aria-controls": "results", role: "combobox", "aria-expanded": "true", "aria-autocomplete": "list",
    oninput: (/** @type {any} */ event) => show(event.target.value), onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter") mark(0)?.click();
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") { mark(event.key === "ArrowDown" ? 1 : -1); event.preventDefault(); }
    } });
  show("");
  const input = /** @type {HTMLInputElement} */ (field);
  make(() => { if (input.value) show(input.value); });
  return h("div.palette", h("div.palette-top", icon("search"), field), results, h("p.palette-foot.note", h("kbd", "↑"), h("kbd", "↓"), "choose", h("kbd", "↵"), "open", h("kbd", "Esc"), "close"));
}
