// The page around the worker: an editor, three views of the results, and the workflow in the address.
const MOST_SECONDS = 30; // a pattern of the author may never end
const MOST_BYTES = 1_000_000; // of a workflow in a link, which may be packed a thousand times smaller
const $ = (id) => document.getElementById(id);
const views = ["findings", "page", "compiled"];
let worker, running, waiting, last = 0, timer, done;

function start() {
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = (event) => receive(event.data);
}

function restart() {
  worker.terminate();
  start();
}

function receive(message) {
  clearTimeout(timer);
  running = null;
  if (message.failed) {
    say(`Python failed: ${message.failed}`);
    if (message.id) restart(); // it may not be able to do anything any more
  } else if (message.id === last) show(message);
  if (waiting) send();
}

function send() {
  const task = waiting;
  if (!task) return;
  waiting = null;
  running = task;
  worker.postMessage(task);
  timer = setTimeout(() => {
    restart();
    running = null;
    say(`Stopped after ${MOST_SECONDS} seconds`);
    send();
  }, MOST_SECONDS * 1000);
}

function check(remark = "Checked") {
  done = remark;
  waiting = { id: ++last, name: safeName($("name").value), text: $("text").value };
  say("Checking …");
  if (!running) send();
}

function safeName(name) {
  const parts = name.replace(/\0/g, "").split("/").filter((part) => part && part !== "." && part !== "..");
  return parts.join("/") || "workflow.json";
}

function show({ findings, page, compiled }) {
  say(done);
  $("findings").replaceChildren(...findings.split("\n").flatMap(line));
  $("compiled").textContent = compiled;
  $("page").srcdoc = page ? opened(page) : "<p>The workflow can't be drawn; see the findings.</p>";
}

// The studio's page, opened at the workflow.
function opened(page) {
  let id = "";
  try {
    id = encodeURIComponent(JSON.parse($("text").value).id);
  } catch {
    // its front page says what is wrong
  }
  return page.replace("<head>", `<head><script>location.hash = ${JSON.stringify(`#${id}`)}</script>`);
}

// A line of the report; where it names a place, the place can be clicked.
function line(text) {
  const match = /^(\s*--> .*:)(\d+):(\d+)( .*)?$/.exec(text);
  if (!match) return [text, "\n"];
  const button = document.createElement("button");
  button.type = "button";
  button.className = "place";
  button.textContent = text;
  button.onclick = () => select(Number(match[2]), Number(match[3]));
  return [button, "\n"];
}

function select(row, column) {
  const area = $("text");
  const rows = area.value.split("\n");
  const offset = rows.slice(0, row - 1).join("\n").length + (row > 1 ? 1 : 0);
  const at = offset + [...rows[row - 1]].slice(0, column - 1).join("").length;
  area.focus();
  area.setSelectionRange(at, offset + rows[row - 1].length);
  area.scrollTop = ((row - 5) * area.scrollHeight) / rows.length;
}

function say(text) {
  $("state").textContent = text;
}

function choose(view, focus) {
  for (const each of views) {
    const tab = $(`tab-${each}`);
    tab.setAttribute("aria-selected", String(each === view));
    tab.tabIndex = each === view ? 0 : -1;
    $(each).hidden = each !== view;
    if (focus && each === view) tab.focus();
  }
}

// The address: the file and its text, packed.
async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}

async function unpacked(code) {
  const bytes = Uint8Array.from(atob(code.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > MOST_BYTES) {
      await reader.cancel();
      throw new RangeError("too long");
    }
    text += decoder.decode(value, { stream: true });
  }
}

async function share() {
  const parameters = new URLSearchParams({ file: $("name").value, text: await packed($("text").value) });
  history.replaceState(null, "", `#${parameters}`);
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is in your clipboard");
  } catch {
    say("The link is in the address bar");
  }
}

async function open() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  if (parameters.has("text")) {
    try {
      fill(parameters.get("file") || "workflow.json", await unpacked(parameters.get("text")));
      return;
    } catch {
      return example("The link is damaged or too long; this is the example");
    }
  }
  await example();
}

async function example(remark) {
  const { example: name } = await (await fetch("build.json")).json();
  fill(name, await (await fetch("example.json")).text(), remark);
}

function fill(name, text, remark) {
  $("name").value = name;
  $("text").value = text;
  check(remark);
}

let pause;
const changed = () => {
  clearTimeout(pause);
  pause = setTimeout(() => check(), 400);
};
$("text").oninput = changed;
$("name").oninput = changed;
$("example").onclick = () => example();
$("share").onclick = share;
for (const view of views) $(`tab-${view}`).onclick = () => choose(view);
document.querySelector('[role="tablist"]').onkeydown = (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const at = views.findIndex((view) => !$(view).hidden);
  choose(views[(at + step + views.length) % views.length], true);
};
addEventListener("hashchange", open);
start();
open();
