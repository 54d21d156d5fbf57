// The item in the status bar: whether the server runs, and what it found in the open workflow.

import * as vscode from "vscode";
import { DOCUMENTS } from "./client";

export type ServerState = "starting" | "running" | "stopped";

const ICONS = { starting: "$(loading~spin)", running: "$(check)", stopped: "$(circle-slash)" };

export class Status implements vscode.Disposable {
  private readonly item = vscode.languages.createLanguageStatusItem("workrail", DOCUMENTS);
  private state: ServerState = "stopped";

  constructor() {
    this.item.name = "WorkRail Lint";
    this.item.command = { command: "workrail.restart", title: "Restart" };
    this.update();
  }

  show(state: ServerState): void {
    this.state = state;
    this.update();
  }

  /** Count the findings of the document in the active editor. */
  update(): void {
    const document = vscode.window.activeTextEditor?.document;
    const diagnostics = document === undefined ? [] : vscode.languages.getDiagnostics(document.uri);
    const own = diagnostics.filter((each) => each.source === "workrail-lint");
    const errors = own.filter((each) => each.severity === vscode.DiagnosticSeverity.Error).length;
    this.item.text = `${ICONS[this.state]} WorkRail`;
    this.item.detail = this.state === "running" ? `${errors} errors, ${own.length - errors} others` : this.state;
    this.item.severity = errors > 0 ? vscode.LanguageStatusSeverity.Error : vscode.LanguageStatusSeverity.Information;
  }

  dispose(): void {
    this.item.dispose();
  }
}
