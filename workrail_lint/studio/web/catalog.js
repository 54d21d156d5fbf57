// The catalog with every builtin, and the locks with what proves them.

import { h, link } from "./dom.js";
import { chapter, schemaForm } from "./panel.js";
import { addressOf, data, workflows } from "./store.js";
import { counted, percent } from "./words.js";

const TITLES = new Map([["feature", "Features"], ["ref", "Refs"], ["template", "Templates"], ["contract", "Contract packs"]]);

export function catalogPage() {
  return h("main", { class: "page", id: "main" }, h("h1", {}, "Catalog"), h("p", { class: "lead" }, "Every builtin that a workflow of this project can use: what it adds, and who uses it."),
    [...TITLES].map(([kind, title]) => chapter(title, data.catalog.filter((/** @type {any} */ item) => item.kind === kind).map(entry))));
}

/** @param {any} item */
function entry(item) {
  return h("details", { class: "entry" }, h("summary", {}, h("code", {}, item.id), " ", item.title, h("span", { class: "note" }, item.usedBy.length ? ` used by ${counted(item.usedBy.length, "workflow")}` : "")),
    h("p", {}, item.summary), item.text ? h("div", { class: "text-box padded" }, item.text) : null, item.schema ? schemaForm(item.schema, item.example) : null,
    item.usedBy.length ? h("p", {}, "Used by ", item.usedBy.map((/** @type {string} */ ident, /** @type {number} */ number) => {
      const workflow = workflows.get(ident);
      return [number ? ", " : null, workflow ? link(addressOf(workflow), {}, workflow.name) : ident];
    })) : null);
}

export function locksPage() {
  const locks = data.locks;
  return h("main", { class: "page", id: "main" }, h("h1", {}, "Locks"),
    locks ? [h("p", { class: "lead" }, `${locks.coveredLocks} of ${counted(locks.totalLocks, "lock")} enforced by a passing test, ${locks.provenLocks} proven by sabotage.`),
      h("table", { class: "workflows" }, h("thead", {}, h("tr", {}, ["Category", "Locks", "Enforced", "Proven", "Not enforced"].map((title) => h("th", { scope: "col" }, title)))),
        h("tbody", {}, Object.entries(locks.byCategory ?? {}).map(([name, group]) => h("tr", {}, h("td", {}, name), h("td", { class: "number" }, String(group.total)), h("td", { class: "number" }, `${percent(group.covered, group.total)}%`),
          h("td", { class: "number" }, `${percent(group.proven, group.total)}%`), h("td", {}, (group.uncovered ?? []).join(", ") || "–")))))]
      : h("p", { class: "empty" }, "Not asked for. Show them with: workrail-lint studio --locks docs/lock-coverage.json"));
}
