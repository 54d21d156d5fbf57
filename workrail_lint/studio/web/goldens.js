// Changes of goldens, by the edit of the workflow that explains them. Those that no edit explains come first.

import { h, icon, link } from "./dom.js";
import { graphOf } from "./graph.js";
import { layerOf } from "./layers.js";
import { action, mayWrite } from "./live.js";
import { oneColumn, piecesOf, section } from "./panel.js";
import { addressOf, data, editsInOrder, runAddress, state, stepTitle, views, workflowById } from "./store.js";
import { asText, counted } from "./words.js";
import { boundChange, failedBy, notice } from "./worklists.js";

/** @typedef {import("../../../tools/studio/page").Edit} Edit */
/** @typedef {import("../../../tools/studio/page").Workflow} Workflow */

/** @type {Map<string, [string, string]>} */
const SIGNS = new Map([["added", ["+", "ok"]], ["removed", ["−", "err"]], ["bound", ["↻", "warn"]], ["moved", ["↕", "info"]], ["renamed", ["→", "info"]], ["unexplained", ["?", "err"]]]);
const WIDE = matchMedia("(min-width: 1360px)");

/** @param {string} edit */
function address(edit) {
  return `~goldens/${encodeURIComponent(edit)}`;
}

views.set("goldens", goldensPage);

function goldensPage() {
  const list = editsInOrder();
  if (!list.length) return h("main.page", { id: "main" }, h("h1", "Goldens"), h("p.empty", icon("check"), " No golden differs from what the tests saw."));
  const edit = list.find((item) => item.id === state.entry) ?? list[0];
  const goldens = new Set(list.flatMap((item) => item.goldens));
  const odd = list.filter((item) => item.kind === "unexplained").length;
  const explaining = list.filter((item) => item.kind !== "unexplained" && item.kind !== "change");
  const all = new Set(list.flatMap((item) => item.changes.map((change) => change.id))).size;
  const summary = explaining.length ? `${counted(explaining.length, "edit")} ${explaining.length === 1 ? "explains" : "explain"} ${all - odd} of ${counted(all, "change")} in ${counted(goldens.size, "golden")}` : `${counted(all, "change")} in ${counted(goldens.size, "golden")}`;
  const entry = (/** @type {Edit} */ item) => {
    const [sign, tone] = SIGNS.get(item.kind) ?? ["~", "warn"];
    return link(address(item.id), { class: `cause${item === edit ? " current" : ""}`, "aria-current": item === edit ? "true" : null }, h("b.sign", { class: `t-${tone}` }, sign),
      h("span.cause-text", h("strong", item.title), h("span.note", item.kind === "unexplained" ? "no edit explains it · " : "", counted(item.goldens.length, "golden"), item.changes.length > 1 ? ` · ${counted(item.changes.length, "consequence")}` : null)));
  };
  return h("main.split.goldens", { class: state.entry ? "has-step" : "", id: "main" },
    h("header.view-head", h("div", h("h1", "Golden changes"), h("p.note", summary, odd ? ["; ", h("strong.t-err", `${odd} ${odd === 1 ? "is" : "are"} not explained`)] : null)),
      h("span.walk.note", `${list.indexOf(edit) + 1} of ${list.length}`, h("kbd", "j"), h("kbd", "k"), mayWrite() ? [h("kbd", "a"), "accept", h("kbd", "r"), "reject"] : null)),
    h("nav.causes", { "aria-label": "Edits" }, [...new Set(list.map((item) => item.workflow))].map((name) => [h("p.group-head", workflowById(name)?.name ?? name), list.filter((item) => item.workflow === name).map(entry)])),
    h("div.cause-body", { tabindex: 0, role: "region", "aria-label": "Edit" }, h("div.reading", editBody(edit))), picture(edit));
}

/** The workflow with the edit on it, where there is room. @param {Edit} edit */
function picture(edit) {
  const workflow = workflowById(edit.workflow);
  if (!workflow?.layout || !WIDE.matches) return null;
  const own = edit.step && workflow.stepById.has(edit.step) ? edit.step : null;
  /** @type {import("../../../tools/studio/page").Layer} */
  const layer = workflow.changes && edit.kind !== "unexplained" ? layerOf(workflow, "changes") : { marks: new Map(own ? [[own, { text: edit.kind === "unexplained" ? "? unexplained" : "~ changed", tone: "err" }]] : []), labels: new Map(), legend: [] };
  return h("div.left.picture", graphOf(workflow, layer, { step: own ?? layer.ghosts?.find((ghost) => ghost.step === edit.step)?.beside }, [h("strong", workflow.name)]));
}

/** @param {Edit} edit */
function editBody(edit) {
  const workflow = workflowById(edit.workflow);
  const step = workflow?.stepById.get(edit.step ?? "");
  const gone = workflow?.changes?.list.find((change) => change.kind === "removed" && change.step?.endsWith(edit.step ?? "\n"));
  const isSingle = edit.kind === "unexplained" || edit.kind === "change";
  const option = isSingle ? "--group" : "--edit";
  const revision = data.goldens?.base ?? data.revision;
  const base = revision && !isSingle ? ` --base ${revision}` : "";
  const where = edit.goldens.length === 1 ? "Accept 1 golden" : `Accept in ${edit.goldens.length} goldens`;
  return [
    link("~goldens", { class: "button small back" }, icon("left"), "All edits"),
    h("p.eyebrow", workflow ? link(addressOf(workflow, step ? edit.step : null, { layer: isSingle ? null : "changes" }), workflow.name) : edit.workflow, step ? ` › ${step.title}` : null),
    h("h2", { tabindex: -1, id: "step-title" }, edit.title),
    edit.kind === "unexplained" ? h("div.bad-notice", notice("error", "No edit of this workflow explains this change.", "Look at the catalog, the routines and the version of the tool before you accept it.")) : null,
    edit.kind === "bound" ? boundChange(edit.before, edit.after) : null,
    edit.kind === "added" && step ? [step.condition ? h("p.note", "runs if ", h("strong", step.condition)) : null, piecesOf(step.pieces)] : null,
    edit.kind === "removed" && gone ? oneColumn(gone.text ?? "", "") : null,
    edit.kind !== "bound" && (edit.before || edit.after) ? oneColumn(asText(edit.before), asText(edit.after)) : null,
    h("div.acts.decide", action(where, `workrail-test golden accept ${option} ${edit.id}${base}`, "golden", { edit: edit.id, decision: "accept" }, "main-act"), action("Reject", `workrail-test golden reject ${option} ${edit.id}${base}`, "golden", { edit: edit.id, decision: "reject" }), h("span.note", "writes the goldens below, nothing else")),
    edit.changes.length > 1 ? h("details.consequences", h("summary", h("strong", counted(edit.changes.length, "consequence")), h("span.note", " in the goldens, all of this edit")), h("ol", edit.changes.map((change) => h("li", h("p", consequence(workflow, change)), sides(change))))) : null,
    section("Seen in", h("ul.plain.lines", edit.goldens.map((golden) => seenIn(edit, golden)), failedBy(edit, workflow).map((run) => h("li.t-err", icon("cross"), " ", link(runAddress(run.key, run.outcome?.moment), run.name), h("span.note", " fails because of this edit; accepting does not mend it"))))),
  ];
}

/** @param {Workflow | undefined} workflow @param {import("../../../tools/studio/page").GoldenChange} change */
function consequence(workflow, change) {
  const step = change.step ? `“${stepTitle(workflow, change.step)}”` : "";
  if (/^turn at/u.test(change.title) && step) return `${change.change === "removed" ? "A turn is gone at" : change.change === "added" ? "A turn is new at" : "A turn differs at"} ${step}`;
  return change.title;
}

const MOST_TEXT = 2000;

/** The words that differ, where they are words. @param {import("../../../tools/studio/page").GoldenChange} change */
function sides(change) {
  const [before, after] = [asText(change.before ?? change.old), asText(change.after ?? change.new)];
  const isText = [change.before ?? change.old, change.after ?? change.new].every((value) => value === null || value === undefined || typeof value !== "object" || Array.isArray(value));
  return isText && before.length + after.length < MOST_TEXT && (before || after) ? oneColumn(before, after) : null;
}

/** A golden, with a link to where its run differs because of an edit. @param {Edit} edit @param {string} golden */
function seenIn(edit, golden) {
  const item = data.goldens?.pending.find((each) => each.golden === golden);
  const run = data.runs.find((each) => each.path === golden || (item?.test && each.test === item.test));
  const at = run?.differences.find((difference) => difference.edit?.id === edit.id && difference.moment !== null)?.moment ?? null;
  return h("li", icon("play"), " ", run ? link(runAddress(run.key, at), run.name) : h("code", golden), h("span.note", !run ? "" : at === null ? " at the end" : ` at moment ${at + 1}`));
}
