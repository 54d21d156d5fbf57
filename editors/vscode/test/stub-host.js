// A stand-in for the editor: just enough of the `vscode` module for the client to start, open documents and get answers.
// What the tests look at is written out; everything else is an object that does nothing.
"use strict";

const Module = require("node:module");
const { pathToFileURL } = require("node:url");

class Disposable {
  constructor(dispose = () => {}) { this.dispose = dispose; }
  static from(...all) { return new Disposable(() => all.forEach((each) => each.dispose())); }
}

class EventEmitter {
  constructor() {
    this.listeners = new Set();
    this.event = (listener, self) => {
      const bound = self ? listener.bind(self) : listener;
      this.listeners.add(bound);
      return new Disposable(() => this.listeners.delete(bound));
    };
  }
  fire(value) { for (const listener of [...this.listeners]) listener(value); }
  dispose() { this.listeners.clear(); }
}

class Position { constructor(line, character) { this.line = line; this.character = character; } }
class Range { constructor(start, end) { this.start = start; this.end = end; } }
class Diagnostic { constructor(range, message, severity) { Object.assign(this, { range, message, severity }); } }

class CancellationTokenSource {
  constructor() { this.token = { isCancellationRequested: false, onCancellationRequested: () => new Disposable() }; }
  cancel() {}
  dispose() {}
}

class CodeActionKind {
  constructor(value) { this.value = value; }
  append(part) { return new CodeActionKind(this.value ? `${this.value}.${part}` : part); }
}
CodeActionKind.Empty = new CodeActionKind("");
for (const name of ["QuickFix", "Refactor", "RefactorExtract", "RefactorInline", "RefactorRewrite", "Source", "SourceOrganizeImports"]) {
  CodeActionKind[name] = new CodeActionKind(name.toLowerCase());
}

class Uri {
  constructor(scheme, fsPath) { this.scheme = scheme; this.fsPath = fsPath; this.path = fsPath; }
  static file(path) { return new Uri("file", path); }
  static parse(text) { return new Uri("file", decodeURIComponent(new URL(text).pathname)); }
  with() { return this; }
  toString() { return pathToFileURL(this.fsPath).toString(); }
}

/** An object whose unknown members are functions that do nothing and return something disposable. */
function quiet(known) {
  return new Proxy(known, {
    get(target, name) {
      if (name in target || typeof name === "symbol" || name === "then") return target[name];
      return String(name).startsWith("on") ? new EventEmitter().event : () => new Disposable();
    },
  });
}

/** The module, and what happened in it. */
function makeHost(folder, settings) {
  const emitters = {
    open: new EventEmitter(), change: new EventEmitter(), save: new EventEmitter(), close: new EventEmitter(),
    selection: new EventEmitter(), configuration: new EventEmitter(), diagnostics: new EventEmitter(),
  };
  const host = { status: {}, taskProviders: new Map(), controllers: [], files: [], diagnostics: new Map(), errors: [], warnings: [], commands: new Map(), panels: [], providers: new Map(), documents: [], emitters };
  const channel = () => quiet({ name: "out", append() {}, appendLine() {}, replace() {}, clear() {}, show() {}, hide() {}, dispose() {} });
  const classes = { Disposable, EventEmitter, Position, Range, Diagnostic, CancellationTokenSource, CodeActionKind, Uri };
  const namespaces = {
    workspace: quiet({
      isTrusted: true,
      workspaceFolders: [{ uri: Uri.file(folder), name: "test", index: 0 }],
      textDocuments: host.documents,
      notebookDocuments: [],
      onDidOpenTextDocument: emitters.open.event,
      onDidChangeTextDocument: emitters.change.event,
      onDidSaveTextDocument: emitters.save.event,
      onDidCloseTextDocument: emitters.close.event,
      onDidChangeConfiguration: emitters.configuration.event,
      getConfiguration: (section) => ({
        get: (name, otherwise) => settings[section ? `${section}.${name}` : name] ?? otherwise,
        has: (name) => `${section}.${name}` in settings,
        inspect: () => undefined,
      }),
      getWorkspaceFolder: () => namespaces.workspace.workspaceFolders[0],
      createFileSystemWatcher: () => quiet({ dispose() {} }),
      findFiles: async () => host.files.map((each) => Uri.file(each)),
      asRelativePath: (uri) => uri.fsPath.slice(folder.length + 1),
    }),
    window: quiet({
      activeTextEditor: undefined,
      visibleTextEditors: [],
      tabGroups: quiet({ all: [], onDidChangeTabs: new EventEmitter().event }),
      onDidChangeTextEditorSelection: emitters.selection.event,
      createOutputChannel: channel,
      showErrorMessage: (text) => { host.errors.push(text); return Promise.resolve(undefined); },
      showWarningMessage: (text) => { host.warnings.push(text); return Promise.resolve(undefined); },
      createWebviewPanel: (_type, title) => {
        const messages = new EventEmitter();
        const panel = { title, sent: [], messages, webview: { html: "", onDidReceiveMessage: messages.event, postMessage: async (message) => panel.sent.push(message) }, onDidDispose: () => new Disposable(), dispose() {} };
        host.panels.push(panel);
        return panel;
      },
    }),
    languages: quiet({
      match: (selector, document) => (selector.some((each) => each.language === document.languageId) ? 10 : 0),
      createLanguageStatusItem: () => host.status,
      getDiagnostics: (uri) => host.diagnostics.get(uri.toString()) ?? [],
      createDiagnosticCollection: () => ({
        set: (uri, found) => { host.diagnostics.set(uri.toString(), found ?? []); emitters.diagnostics.fire(uri.toString()); },
        get: (uri) => host.diagnostics.get(uri.toString()), delete: (uri) => host.diagnostics.delete(uri.toString()), clear() {}, dispose() {},
      }),
    }),
    commands: quiet({ registerCommand: (name, run) => { host.commands.set(name, run); return new Disposable(); }, executeCommand: async () => host.symbols }),
    tasks: quiet({ registerTaskProvider: (kind, provider) => { host.taskProviders.set(kind, provider); return new Disposable(); } }),
    tests: quiet({ createTestController: () => makeController(host) }),
    env: quiet({ appName: "stub", language: "en", uriScheme: "stub" }),
    extensions: quiet({ all: [], getExtension: () => undefined }),
    l10n: { t: (text) => text },
  };
  for (const kind of ["Completion", "Hover", "Rename", "CodeActions", "Definition", "DocumentSymbol", "CodeLens"]) {
    for (const name of [`register${kind}Provider`, `register${kind}ItemProvider`]) {
      namespaces.languages[name] = (_selector, provider) => { host.providers.set(kind, provider); return new Disposable(); };
    }
  }
  const made = new Map();
  // The bundle copies these when it is loaded, so they must be there by name.
  const named = ["DiagnosticSeverity", "LanguageStatusSeverity", "Location", "ProcessExecution", "Selection", "Task", "TaskGroup", "TaskScope",
    "TestMessage", "TestRunProfileKind", "TextEditorRevealType"];
  const copied = Object.fromEntries(named.map((name) => [name, standIn(name)]));
  host.vscode = new Proxy({ ...copied, ...classes, ...namespaces, ViewColumn: { Beside: -2 }, version: "1.91.0" }, {
    get(target, name) {
      if (name in target || typeof name === "symbol") return target[name];
      if (!made.has(name)) made.set(name, standIn(String(name)));
      return made.get(name);
    },
    has: () => true,
  });
  return host;
}

/** A controller of tests that remembers its items, its profile, and how each item of a run ended. */
function makeController(host) {
  const items = new Map();
  const controller = {
    items: { add: (item) => items.set(item.id, item), delete: (id) => items.delete(id), forEach: (each) => items.forEach(each) },
    createTestItem: (id, label, uri) => ({ id, label, uri }),
    createRunProfile: (_label, _kind, run) => { controller.run = run; },
    createTestRun: () => {
      const ended = new Map();
      const end = (state) => (item, message) => ended.set(item.label, { state, message });
      controller.ended = ended;
      return { started() {}, appendOutput() {}, end() {}, passed: end("passed"), failed: end("failed"), errored: end("errored"), skipped: end("skipped") };
    },
    dispose() {},
  };
  host.controllers.push(controller);
  return controller;
}

/** A class that keeps nothing and whose static members are numbers: it serves as an enumeration too. */
function standIn(name) {
  const numbers = new Map();
  const made = class { constructor(...given) { this.given = given; } static [Symbol.hasInstance](value) { return value?.constructor === made; } };
  Object.defineProperty(made, "name", { value: name });
  return new Proxy(made, {
    get(target, member) {
      if (member in target || typeof member === "symbol") return target[member];
      if (!numbers.has(member)) numbers.set(member, numbers.size);
      return numbers.get(member);
    },
  });
}

/** A text document as the editor has it. */
function makeDocument(path, text) {
  const document = {
    uri: Uri.file(path), fileName: path, languageId: "json", version: 1, isUntitled: false, isDirty: false, isClosed: false, eol: 1,
    text, getText: () => document.text, get lineCount() { return document.text.split("\n").length; },
    lineAt: (line) => ({ text: document.text.split("\n")[line] }),
  };
  return document;
}

/** Make `require("vscode")` give the host, from now on. */
function install(host) {
  const original = Module._load;
  Module._load = function load(request, ...others) { return request === "vscode" ? host.vscode : original.call(this, request, ...others); };
}

module.exports = { install, makeDocument, makeHost, Position };
