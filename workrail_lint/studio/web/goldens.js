// Golden changes that wait for a decision, each cause once. The page never writes: it shows the command.

import { copyable, h, icon, link } from "./dom.js";
import { section, sideBySide } from "./panel.js";
import { addressOf, data, runAddress, runs, state, workflows } from "./store.js";
import { counted, json } from "./words.js";

/** @param {unknown} value */
function goldenText(value) {
  return value === undefined || value === null ? "" : typeof value === "string" ? value : Array.isArray(value) && value.every((line) => typeof line === "string") ? value.join("") : json(value);
}

/** @type {Map<string, [string, string]>} */
const SIGNS = new Map([["added", ["+ new", "ok"]], ["removed", ["− gone", "error"]], ["changed", ["~ changed", "warning"]]]);

/** @param {string} change */
function changeTag(change) {
  const [words, tone] = SIGNS.get(change) ?? ["", ""];
  return words ? h("span", { class: `tag c-${tone}` }, words) : null;
}

export function goldensPage() {
  const groups = data.goldens?.groups ?? [];
  if (!groups.length) {
    return h("main", { class: "page", id: "main" }, h("h1", {}, "Goldens"), h("p", { class: "empty" }, data.goldens ? "No change waits for a decision." : "Not asked for. Show pending changes with:"),
      data.goldens ? null : copyable("workrail-test golden diff --json > goldens.json; workrail-lint studio --goldens goldens.json"));
  }
  const at = Math.max(0, Math.min(state.index, groups.length - 1));
  const group = groups[at];
  const workflow = [...workflows.values()].find((item) => item.id === group.workflow);
  const differences = data.goldens.pending.reduce((/** @type {number} */ sum, /** @type {any} */ item) => sum + item.differences, 0);
  const seen = (group.goldens ?? []).map((/** @type {string} */ golden) => [golden, [...runs.values()].find((run) => run.path === golden)]);
  return h("main", { class: "split goldens", id: "main" },
    h("header", { class: "view-head" }, h("div", {}, h("h1", {}, "Golden changes to review"), h("p", { class: "note" }, `${counted(groups.length, "change")} in ${counted(data.goldens.pending.length, "golden")}; ${counted(differences, "difference")} in all, the others follow from these`)),
      h("span", { class: "note" }, h("kbd", {}, "j"), h("kbd", {}, "k"), " next, previous")),
    h("nav", { class: "causes", "aria-label": "Changes" }, groups.map((/** @type {any} */ item, /** @type {number} */ number) => link(`~goldens/${number}`, { class: `cause${number === at ? " current" : ""}`, "aria-current": number === at ? "true" : null },
      h("strong", {}, item.title), h("span", { class: "note" }, changeTag(item.change), `in ${counted(item.runs, "run")}`)))),
    h("div", { class: "cause-body" }, h("p", { class: "eyebrow" }, `change ${at + 1} of ${groups.length} · ${group.id}`), h("h2", { tabindex: -1, id: "step-title" }, group.title),
      sideBySide(goldenText(group.before ?? group.old), goldenText(group.after ?? group.new), ["golden", "this run"]),
      workflow && group.step && workflow.stepById.has(group.step) ? h("p", {}, link(addressOf(workflow, group.step), {}, "see the step in its flow")) : null,
      section("Seen in", h("ul", { class: "plain" }, seen.map((/** @type {any} */ [golden, run]) => h("li", {}, icon("play"), " ", run ? link(runAddress(run.key), {}, run.name) : h("code", {}, golden))))),
      section("Decide", h("p", { class: "note" }, "This page changes nothing. Run one of these in the project:"), copyable(`workrail-test golden accept --group ${group.id}`), copyable(`workrail-test golden reject --group ${group.id}`))));
}
