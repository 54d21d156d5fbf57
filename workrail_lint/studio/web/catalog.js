// The catalog with every builtin, and the locks with what proves them.

import { copyable, filtered, h, icon, link } from "./dom.js";
import { chapter, schemaForm } from "./panel.js";
import { addressOf, data, state, views, workflows } from "./store.js";
import { counted } from "./words.js";

/** @type {Map<string, [string, string]>} */
const TITLES = new Map([["feature", ["Features", "lines that the compiler adds to the prompts of a workflow that names them"]], ["ref", ["Refs", "texts that a prompt includes by name"]],
  ["template", ["Templates", "steps that the compiler puts in place of a call"]], ["contract", ["Contract packs", "what a step has to submit"]]]);

views.set("catalog", catalogPage);
views.set("locks", locksPage);

function catalogPage() {
  const { field, body } = filtered("catalog", state.filters, "Filter builtins", () => {
    const words = (state.filters.get("catalog") ?? "").toLowerCase();
    const fits = data.catalog.filter((item) => `${item.id} ${item.title} ${item.summary}`.toLowerCase().includes(words));
    return [...TITLES].map(([kind, [title, about]]) => ({ title, about, items: fits.filter((item) => item.kind === kind) }))
      .filter(({ items }) => items.length).map(({ title, about, items }) => chapter(title, h("p.note.about", about), items.map(entry)));
  });
  return h("main.page", { id: "main" }, h("h1", "Catalog"), h("p.lead", "Every builtin that a workflow of this project can use: what it adds, and who uses it."),
    h("div.row.tools", field), body);
}

/** @param {import("../../../tools/studio/page").Builtin} item */
function entry(item) {
  return h("details.entry", { open: state.entry === item.id, "data-entry": item.id },
    h("summary", h("code", item.id), h("strong", item.title), h("span", { class: item.usedBy.length ? "tag" : "note" }, item.usedBy.length ? `used by ${counted(item.usedBy.length, "workflow")}` : "not used"), h("span.note.summary", item.summary)),
    item.text ? h("div.text-box.padded", item.text) : null, item.schema ? schemaForm(item.schema, item.example) : null,
    (item.steps ?? []).map((step) => h("div", h("p.step-head", h("strong", step.title), " ", h("code", step.id)), step.prompt ? h("div.text-box.padded", step.prompt) : null)),
    item.kind === "template" && !item.usedBy.length ? [h("p.note.used", "No workflow here uses it. Read its prompts with"), copyable(`workrail-lint catalog show ${item.id}`)] : null,
    item.usedBy.length ? h("p.used", "Used by ", item.usedBy.map((ident, number) => {
      const workflow = workflows.get(ident);
      return [number ? ", " : null, workflow ? link(addressOf(workflow), workflow.name) : ident];
    })) : null);
}

/** Every lock with its state. @returns {{id: string, category: string, tests: string[], proofs: any[], open: boolean}[]} */
function allLocks() {
  const { covered = [], uncovered = [] } = data.locks;
  const of = (/** @type {any} */ item, /** @type {boolean} */ open) => ({ id: item.lockId ?? item.id, category: item.category ?? "", tests: item.tests ?? [], proofs: item.proofs ?? [], open });
  return [...uncovered.map((/** @type {any} */ item) => of(item, true)), ...covered.map((/** @type {any} */ item) => of(item, false))];
}

function locksPage() {
  const locks = data.locks;
  const all = allLocks();
  const { field, body } = filtered("locks", state.filters, "Filter locks and tests", () => {
    const words = (state.filters.get("locks") ?? "").toLowerCase();
    const fits = all.filter((lock) => `${lock.id} ${lock.category} ${lock.tests.join(" ")}`.toLowerCase().includes(words));
    return [h("p.note.about", counted(fits.length, "lock")), fits.map(lockEntry)];
  });
  return h("main.page", { id: "main" }, h("h1", "Locks"),
    h("p.lead", `${locks.coveredLocks} of ${counted(locks.totalLocks, "lock")} enforced by a passing test, ${locks.provenLocks} proven by a sabotage that makes such a test fail.`),
    h("table.workflows.plain-table", h("thead", h("tr", h("th", { scope: "col" }, "Category"), ["Locks", "Enforced", "Proven"].map((title) => h("th", { scope: "col", class: "number" }, title)), h("th", { scope: "col" }, "Not enforced"))),
      h("tbody", Object.entries(locks.byCategory ?? {}).map(([name, group]) => h("tr", h("td", name), [group.total, group.covered, group.proven].map((count, number) => h("td.number", { "data-title": ["locks", "enforced", "proven"][number] }, String(count))),
        h("td", { class: group.uncovered?.length ? null : "empty-cell" }, (group.uncovered ?? []).join(", ") || h("span.note", "none")))))),
    all.length ? chapter("What proves them", h("div.row.tools", field), body) : null);
}

/** @param {ReturnType<typeof allLocks>[number]} lock */
function lockEntry(lock) {
  const state_ = lock.open ? ["error", "error", "not enforced"] : lock.proofs.length ? ["ok", "check", "proven"] : ["warning", "warning", "enforced, not proven"];
  return h("details.entry", h("summary", h("span", { class: `tag c-${state_[0]}` }, icon(state_[1]), state_[2]), h("code", lock.id), h("span.note", counted(lock.tests.length, "test"))),
    lock.proofs.length ? h("ul.plain", lock.proofs.map((proof) => h("li", "the sabotage ", h("code.tag", proof.sabotage), " makes ", h("code", proof.test), " fail"))) : null,
    h("p.note", lock.tests.length ? "enforced by " : "no test claims it", lock.tests.map((test, number) => [number ? ", " : null, h("code", test)])));
}
