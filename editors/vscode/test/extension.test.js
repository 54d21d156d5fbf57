// The built extension in a stand-in for the editor, with the real server behind it.
"use strict";

const assert = require("node:assert/strict");
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const test = require("node:test");
const { install, makeDocument, makeHost, Position } = require("./stub-host.js");

const python = process.env.PYTHON ?? "python3";
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "workrail-"));
const file = path.join(folder, "workflows", "a.json");
const step = (id, prompt) => ({ id, title: `The step ${id}`, prompt });
const good = {
  id: "demo.example", name: "Example", description: "Says hello in two steps.", version: "1.0.0",
  steps: [step("first", "Say hello to the reader and note the time."), step("second", "Say goodbye and note what was said.")],
};
const broken = JSON.stringify(good, null, 2).replace('"title": "The step first"', '"tittle": "The step first"');

fs.mkdirSync(path.dirname(file), { recursive: true });
fs.writeFileSync(file, broken);
// The program as it would be on the path.
const program = path.join(folder, "workrail-lint");
fs.writeFileSync(program, `#!/bin/sh\nexec "${python}" -P -m workrail_lint "$@"\n`, { mode: 0o755 });
fs.writeFileSync(path.join(folder, "pytest"), `#!/bin/sh\nexec "${python}" -P -m pytest "$@"\n`, { mode: 0o755 });
const scenario = (name, steps) => {
  const text = { workflow: "workflows/b.json", agent: { kind: "auto" }, expect: { status: "complete", steps }, golden: false };
  fs.writeFileSync(path.join(folder, name), JSON.stringify(text, null, 2));
  return path.join(folder, name);
};
fs.writeFileSync(path.join(folder, "workflows", "b.json"), JSON.stringify({ ...good, id: "demo.other" }, null, 2));

const host = makeHost(folder, { "workrail.path": "./workrail-lint" });
install(host);
const extension = require("../dist/extension.js");

/** Wait until something is so. */
async function until(holds, what) {
  for (let turn = 0; turn < 1200; turn += 1) {
    const found = holds();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`never happened: ${what}; ${JSON.stringify(host.errors)}`);
}

test("the extension starts the server and shows what it finds", async (t) => {
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const document = makeDocument(file, broken);
  host.documents.push(document);
  await extension.activate({ subscriptions: [] });
  t.after(() => extension.deactivate());
  assert.deepEqual(host.errors, []);

  const found = await until(() => host.diagnostics.get(document.uri.toString())?.find((each) => /tittle/u.test(each.message)), "diagnostics");
  assert.equal(found.source, "workrail-lint");

  await t.test("completion comes from the server", async () => {
    const provider = await until(() => host.providers.get("Completion"), "a completion provider");
    const offset = broken.indexOf('"version"') + 1;
    const before = broken.slice(0, offset).split("\n");
    const at = new Position(before.length - 1, before.at(-1).length);
    const listed = await provider.provideCompletionItems(document, at, { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) }, { triggerKind: 0 });
    assert.ok(JSON.stringify(listed.items ?? listed).includes("about"));
  });

  await t.test("the preview shows the studio page and follows the cursor", async () => {
    host.vscode.window.activeTextEditor = { document, selection: { active: new Position(8, 10) } };
    await host.commands.get("workrail.preview")();
    const [panel] = host.panels;
    assert.equal(panel.title, "demo.example");
    const { html } = panel.webview;
    assert.match(html, /<div id="app">/u);
    const added = /<script>("use strict";\(\(\) => \{\nconst start[\s\S]*?)<\/script>/u.exec(html)[1];
    const hash = createHash("sha256").update(added).digest("base64");
    assert.ok(html.includes(`script-src 'sha256-${hash}'`), "the page lets the added script in");
    const line = broken.split("\n").findIndex((each) => each.includes("Say goodbye"));
    host.emitters.selection.fire({ textEditor: { document, selection: { active: new Position(line, 5) } } });
    const sent = await until(() => panel.sent[0], "a message to the page");
    assert.deepEqual(sent, { workflow: "demo.example", step: "second" });

    // A step that is opened in the page is shown in the text; a page that is made anew keeps its place.
    const editor = { document, revealed: undefined, revealRange: (range) => { editor.revealed = range; } };
    host.vscode.window.visibleTextEditors = [editor];
    host.symbols = [{ name: "first", range: "of the step", selectionRange: { start: new Position(7, 6) }, children: [] }];
    panel.messages.fire({ place: "demo.example/first?layer=cost", step: "first" });
    await until(() => editor.revealed === "of the step", "the step in the text");
    await host.commands.get("workrail.preview")();
    host.vscode.window.activeTextEditor = { document, selection: { active: new Position(7, 10) } };
    await host.commands.get("workrail.preview")();
    assert.match(panel.webview.html, /const start = "demo\.example\/first\?layer=cost";/u);
  });

  await t.test("the status item says that the server runs and counts findings", () => {
    host.emitters.diagnostics.fire();
    assert.match(host.status.text, /WorkRail/u);
    assert.match(host.status.detail, /^\d+ errors, \d+ others$/u);
  });

  await t.test("tasks run the programs beside the server", () => {
    const tasks = host.taskProviders.get("workrail").provideTasks();
    const commands = tasks.map((each) => each.given[4].given.flat().join(" "));
    assert.ok(commands.includes(`${program} check --format concise`), commands.join("; "));
    assert.ok(commands.includes(`${path.join(folder, "pytest")}`), commands.join("; "));
  });

  await t.test("scenarios are tests", async () => {
    fs.mkdirSync(path.join(folder, "below"));
    host.files.push(scenario("right.scenario.json", ["first", "second"]), scenario("wrong.scenario.json", ["first", "first"]));
    // It ends like the first one, and does not run.
    host.files.push(path.join(folder, "below", "right.scenario.json"));
    fs.writeFileSync(host.files.at(-1), "{");
    const [controller] = host.controllers;
    await controller.resolveHandler();
    const token = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };
    await controller.run({ include: undefined, exclude: [] }, token);
    assert.equal(controller.ended.get("right.scenario.json").state, "passed");
    assert.notEqual(controller.ended.get("below/right.scenario.json").state, "passed");
    const wrong = controller.ended.get("wrong.scenario.json");
    assert.equal(wrong.state, "failed");
    assert.match(wrong.message.given[0], /step 2: expected first, found second/u);
  });
});

test("a program that is not there is an error message, not a crash", async () => {
  const settings = makeHost(folder, { "workrail.path": "/nowhere/workrail-lint" }).vscode.workspace;
  host.vscode.workspace.getConfiguration = settings.getConfiguration;
  await extension.activate({ subscriptions: [] });
  assert.match(host.errors.join("\n"), /can't be started.*workrail\.path/u);
  await extension.deactivate();
});

test("a program inside an untrusted workspace is not started", async () => {
  const settings = makeHost(folder, { "workrail.path": "./workrail-lint" }).vscode.workspace;
  host.vscode.workspace.getConfiguration = settings.getConfiguration;
  host.vscode.workspace.isTrusted = false;
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(program, "#!/bin/sh\ntouch ran\n", { mode: 0o755 });
  await extension.activate({ subscriptions: [] });
  assert.match(host.warnings.join("\n"), /not started until you trust the workspace/u);
  assert.ok(!fs.existsSync(path.join(folder, "ran")));
  await extension.deactivate();
  fs.rmSync(folder, { recursive: true, force: true });
});

test("the package has the licence of every package that it bundles", () => {
  const read = (name) => fs.readFileSync(path.join(__dirname, "..", name), "utf8");
  const licences = read("dist/LICENCES.txt");
  const locked = Object.entries(JSON.parse(read("package-lock.json")).packages).filter(([name, each]) => name && !each.dev);
  const heads = locked.map(([name, each]) => `${name.split("node_modules/").at(-1)} ${each.version} (${each.license})`);
  assert.deepEqual(licences.match(/(?<=^-{72}\n\n).*/gm), heads.sort());
  assert.match(read(".vscodeignore"), /^!dist\/LICENCES\.txt$/m);
});
