// Brings the data into the page, starts it, and gives it what only a served page can do: `studioLive`.
"use strict";
(() => {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("studio.token", given);
    history.replaceState(null, "", sessionStorage.getItem("studio.address") ?? "#");
  }
  const headers = { "X-Studio-Token": sessionStorage.getItem("studio.token") ?? "" };
  const app = document.getElementById("app");
  let digest = "";
  let asked = 0; // requests under way: their answers are shown before the page is drawn anew
  let isOld = false;
  /** @type {Set<(event: string) => void>} */
  const listeners = new Set();

  /** @param {string} message */
  function say(message) {
    const paragraph = document.createElement("p");
    paragraph.className = "empty";
    paragraph.textContent = message;
    app?.replaceChildren(paragraph);
  }

  /** @param {string} action @param {object} body */
  async function post(action, body) {
    asked += 1;
    try {
      const answer = await fetch(`/${action}`, { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body) });
      const value = await answer.json();
      if (!answer.ok) throw new Error(value.error);
      return value;
    } finally {
      asked -= 1;
      setTimeout(renew, 100);
    }
  }

  function renew() {
    if (isOld && asked === 0) location.reload();
  }

  async function follow() {
    const answer = await fetch("/events", { headers });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = (await reader?.read()) ?? { value: "", done: true };
      if (done) return;
      const lines = (rest + value).split("\n\n");
      rest = lines.pop() ?? "";
      for (const line of lines) heard(line.slice("data: ".length));
    }
  }

  /** @param {string} event */
  function heard(event) {
    if (event.startsWith("changed ")) {
      const now = event.slice("changed ".length);
      isOld ||= digest !== "" && now !== digest;
      digest = now;
      renew();
    }
    for (const listener of listeners) listener(event);
  }

  async function start() {
    const answer = await fetch("/data", { headers });
    if (!answer.ok) return say("Open the address that the terminal shows: it holds a token that this tab does not have.");
    const data = /** @type {HTMLElement} */ (document.getElementById("data"));
    data.textContent = await answer.text();
    const script = document.createElement("script");
    script.src = "/studio.js";
    document.body.append(script);
    for (;;) {
      await follow().catch(() => undefined);
      await new Promise((resume) => setTimeout(resume, 1000));
    }
  }

  addEventListener("pagehide", () => sessionStorage.setItem("studio.address", location.hash || "#"));
  Object.assign(globalThis, { studioLive: { post, listen: (/** @type {(event: string) => void} */ listener) => listeners.add(listener) } });
  start().catch(() => say("The server does not answer. Start it again: workrail-test studio"));
})();
