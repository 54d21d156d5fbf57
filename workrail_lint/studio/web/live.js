// What a reader can do. A page that is served does it; every other page shows the command that does the same.

import { copyable, h, icon } from "./dom.js";
import { data } from "./store.js";

/** What a served page is given: it asks its own server. @type {{post: (action: string, body: object) => Promise<any>, listen: (listener: (event: string) => void) => void} | undefined} */
const server = Reflect.get(globalThis, "studioLive");

/** Whether this page is served. */
export function isLive() {
  return Boolean(data.live && server);
}

/** Whether this page may change files. */
export function mayWrite() {
  return isLive() && !data.live?.readOnly;
}

/** Ask the server to do something, and say what came of it; a preview says it itself. @param {string} name @param {any} body @returns {Promise<any>} */
export async function send(name, body) {
  try {
    const answer = await server?.post(name, body);
    const written = answer.goldens ?? [answer.scenario ?? (body.apply ? body.path : [])].flat();
    if (!answer.diff || body.apply) say(answer.job ? `started: job ${answer.job}` : written.length ? `wrote ${written.join(", ")}` : "done");
    return answer;
  } catch (problem) {
    say(problem instanceof Error ? problem.message : String(problem), false);
    return null;
  }
}

/** Say how jobs of the server end. The page is drawn anew by itself when a file changed, and what it said stays. */
export function listen() {
  const said = isLive() && sessionStorage.getItem("studio.said");
  if (said) say(said.slice(1), said.startsWith("+"));
  server?.listen((event) => {
    const [kind, job, state] = event.split(" ");
    if (kind === "job") say(`job ${job}: ${state}`, state !== "failed");
  });
}

/** @param {string} words @param {boolean} [good] */
export function say(words, good = true) {
  document.querySelector(".toast")?.remove();
  const toast = h("div.toast", { role: "status" }, icon(good ? "bolt" : "error"), h("span", words));
  document.body.append(toast);
  if (isLive()) sessionStorage.setItem("studio.said", (good ? "+" : "-") + words);
  setTimeout(() => {
    toast.remove();
    if (isLive() && !document.querySelector(".toast")) sessionStorage.removeItem("studio.said");
  }, 4000);
}

/**
 * A button that does something, or the command that does the same.
 * @param {string} title @param {string} command @param {string} name @param {object} body @param {string} [kind]
 */
export function action(title, command, name, body, kind = "") {
  if (!mayWrite()) return h("div.act", h("span.note", title), copyable(command));
  return h("button.button.small", { class: kind, type: "button", title: command, onclick: () => send(name, body) }, title);
}

/** The fix of a finding: its difference first, then a button that applies it. @param {string} title @param {string} command @param {{path: string, code: string, pointer: string}} finding */
export function fixAction(title, command, finding) {
  if (!mayWrite()) return action(title, command, "", {});
  const body = { path: finding.path, code: finding.code, pointer: finding.pointer, hash: data.live?.files?.[finding.path] ?? "" };
  const box = h("div.fix", h("button.button.small.main-act", { type: "button", title: command, onclick: async () => {
    const answer = await send("fix", body);
    if (answer) box.replaceChildren(h("pre.source", { tabindex: 0 }, answer.diff.join("\n")), h("button.button.small.main-act", { type: "button", onclick: () => send("fix", { ...body, apply: true }) }, "Write this"));
  } }, title));
  return box;
}

/** A place in a file: it opens the editor, or is copied. @param {string} path @param {number} line */
export function placeLink(path, line) {
  const words = `${path}:${line}`;
  const act = () => (mayWrite() ? send("open", { path, line }) : navigator.clipboard?.writeText(words).then(() => say(`copied ${words}`), () => {}));
  return h("button.place", { type: "button", title: mayWrite() ? "open in the editor" : "copy the place", onclick: act }, icon(mayWrite() ? "edit" : "copy"), words);
}

/** What the engine answered to what a reader tried, asked once for each try. @type {Map<string, any>} */
const answers = new Map();

/** The run that follows, or why there is none; null until the engine has answered. @param {object} body @param {() => void} redraw @returns {{run?: any, error?: string} | null} */
export function whatFollows(body, redraw) {
  const key = JSON.stringify(body);
  if (!answers.has(key)) {
    answers.set(key, null);
    server?.post("whatif", body).catch((problem) => ({ error: String(problem.message ?? problem) })).then((answer) => { answers.set(key, answer); redraw(); });
  }
  return answers.get(key);
}
