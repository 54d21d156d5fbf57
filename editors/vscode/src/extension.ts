// The entry: starts the client, restarts it when its settings change, and owns everything else.

import * as vscode from "vscode";
import { Client } from "./client";
import { Preview } from "./preview";
import { Status } from "./status";
import { Tasks } from "./tasks";
import { Scenarios } from "./tests";

let client: Client | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const status = new Status();
  client = new Client((state) => status.show(state));
  const preview = new Preview(() => client);
  context.subscriptions.push(
    status,
    preview,
    vscode.languages.onDidChangeDiagnostics(() => status.update()),
    vscode.window.onDidChangeActiveTextEditor(() => status.update()),
    vscode.tasks.registerTaskProvider("workrail", new Tasks()),
    vscode.commands.registerCommand("workrail.preview", () => preview.show(vscode.window.activeTextEditor)),
    vscode.commands.registerCommand("workrail.restart", () => client?.restart()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (["enable", "path", "arguments"].some((name) => event.affectsConfiguration(`workrail.${name}`))) void client?.restart();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => client?.restart()),
    vscode.window.onDidChangeTextEditorSelection((event) => preview.follow(event.textEditor)),
    vscode.workspace.onDidChangeTextDocument((event) => preview.refresh(event.document)),
  );
  // What runs programs of the workspace waits until the user trusts it.
  if (vscode.workspace.isTrusted) context.subscriptions.push(new Scenarios());
  else context.subscriptions.push(vscode.workspace.onDidGrantWorkspaceTrust(() => context.subscriptions.push(new Scenarios())));
  await client.start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
  client = undefined;
}
