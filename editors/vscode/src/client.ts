// The language client: which program, which documents, and what to say when the program is not there.

import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions, Trace } from "vscode-languageclient/node";
import { isOfWorkspace, programOf, resolved } from "./programs";
import type { ServerState } from "./status";

/** What the server may claim. It decides itself which of these files are its documents. */
export const DOCUMENTS = [
  { scheme: "file", language: "json" },
  { scheme: "file", language: "jsonc" },
  { scheme: "untitled", language: "json" },
  { scheme: "file", pattern: "**/{workrail-lint,pyproject}.toml" },
  { scheme: "file", pattern: "**/.agents-work/**/*.{yaml,md,jsonl}" },
  { scheme: "file", pattern: "**/.run/prompt-*.txt" },
];
/** A change of one of these on disk can change the findings of others. */
const WATCHED = "**/*.{json,toml,yaml}";

/** The answer to `workrail/preview`. */
export interface PreviewAnswer {
  step: string | null;
  id: string | null;
  page: string | null;
}

export class Client {
  private running: LanguageClient | undefined;

  constructor(private readonly onState: (state: ServerState) => void) {}

  async start(): Promise<void> {
    const settings = vscode.workspace.getConfiguration("workrail");
    this.onState("stopped");
    if (!settings.get<boolean>("enable", true)) return;
    if (isOfWorkspace(programOf(settings)) && !vscode.workspace.isTrusted) {
      void vscode.window.showWarningMessage(
        `WorkRail Lint: ${programOf(settings)} is a program of this workspace, so it is not started until you trust the workspace.`,
      );
      return;
    }
    const client = new LanguageClient("workrail", "WorkRail Lint", serverOptions(settings), clientOptions());
    this.running = client;
    this.onState("starting");
    try {
      await client.start();
      await client.setTrace(Trace.fromString(settings.get<string>("trace.server", "off")));
      this.onState("running");
    } catch (problem) {
      this.running = undefined;
      this.onState("stopped");
      void vscode.window.showErrorMessage(
        `WorkRail Lint: ${programOf(settings)} can't be started (${String(problem)}). Install it with pip install 'workrail-lint[lsp]', or set workrail.path.`,
      );
    }
  }

  async stop(): Promise<void> {
    const client = this.running;
    this.running = undefined;
    await client?.dispose();
    this.onState("stopped");
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** The studio page of a workflow and the step at a position; without `page` only the step. */
  async preview(document: vscode.TextDocument, position: vscode.Position, page: boolean): Promise<PreviewAnswer | null> {
    if (!this.running?.isRunning()) return null;
    return this.running.sendRequest<PreviewAnswer | null>("workrail/preview", {
      textDocument: { uri: this.running.code2ProtocolConverter.asUri(document.uri) },
      position: { line: position.line, character: position.character },
      page,
    });
  }
}

function serverOptions(settings: vscode.WorkspaceConfiguration): ServerOptions {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const command = resolved(programOf(settings));
  const args = ["server", ...settings.get<string[]>("arguments", [])];
  // Windows looks for a bare name in the working folder first, so an untrusted workspace is not one.
  const options = folder !== undefined && vscode.workspace.isTrusted ? { cwd: folder } : {};
  return { command, args, options };
}

function clientOptions(): LanguageClientOptions {
  return {
    documentSelector: DOCUMENTS,
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher(WATCHED) },
    outputChannelName: "WorkRail Lint",
  };
}
