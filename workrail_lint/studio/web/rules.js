// What a rule found, and where an agent can be, or was, refused with a code of the engine.

import { h, icon, link } from "./dom.js";
import { stateOf, outcomeIcon } from "./outcomes.js";
import { findingKey } from "./panel.js";
import { addressOf, runAddress, runs, state, stepTitle, views, whyOf, workflows } from "./store.js";
import { counted } from "./words.js";

const MOST_STEPS = 60;

/** @param {string} address @param {any} sign @param {string} name @param {string} note @param {string} said @param {string} [number] */
function row(address, sign, name, note, said, number = "") {
  return h("li", link(address, { class: "run-row" }, sign, h("span.run-name", h("strong", name), h("span.note", note)), h("span.run-said", said), h("span.run-number", number)));
}

/** @param {string} title @param {HTMLElement[]} rows */
function listOfRows(title, rows) {
  return [h("h2.group-head", title), rows.length ? h("ol.run-list", rows) : null];
}

views.set("rule", rulePage);

function rulePage() {
  const code = state.entry ?? "";
  return /^[A-Z]+(_[A-Z]+)+$/u.test(code) ? codePage(code) : findingsPage(code);
}

/** @param {string} code */
function findingsPage(code) {
  const found = [...workflows.values()].flatMap((workflow) => workflow.findings.filter((finding) => finding.code === code).map((finding) => ({ workflow, finding })));
  const first = found[0]?.finding;
  return h("main.page.narrow-page", { id: "main" }, h("p.eyebrow", "Rule"), h("h1", code, first ? ` ${first.name}` : ""), first && whyOf(first) ? h("p.lead", whyOf(first)) : null,
    listOfRows(counted(found.length, "finding"), found.map(({ workflow, finding }) => {
      const step = workflow.stepById.has(finding.step ?? "") ? finding.step : null;
      return row(addressOf(workflow, step, { layer: "findings", item: findingKey(finding) }), h("span.sign", { class: `sev-${finding.severity}` }, icon(finding.severity, finding.severity)), step ? stepTitle(workflow, step) : workflow.name, workflow.name, finding.message, `line ${finding.range.start.line}`);
    })), h("p.note", "All about the rule: ", h("code", `workrail-lint rule ${code}`)));
}

/** @param {string} code */
function codePage(code) {
  const can = [...workflows.values()].flatMap((workflow) => workflow.steps.filter((step) => step.blockers.includes(code)).map((step) => ({ workflow, step })));
  const did = [...runs.values()].filter((run) => (run.turns ?? []).some((turn) => turn.blockers.some((item) => item.code === code)));
  const moment = (/** @type {typeof did[number]} */ run) => run.turns.findIndex((turn) => turn.blockers.some((item) => item.code === code));
  return h("main.page.narrow-page", { id: "main" }, h("p.eyebrow", "Refusal"), h("h1", code),
    listOfRows(`${counted(did.length, "run")} with it`, did.map((run) => row(runAddress(run.key, moment(run)), h("span.sign", { class: `o-${stateOf(run)}` }, outcomeIcon(run)), run.name, run.workflow ?? "", `at moment ${moment(run) + 1}`))),
    listOfRows(`${counted(can.length, "step")} where it can happen`, can.slice(0, MOST_STEPS).map(({ workflow, step }) => row(addressOf(workflow, step.id), icon("dot"), step.title, workflow.name, step.id))));
}
