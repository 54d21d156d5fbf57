// The studio page of the open workflow beside its text. It is made anew when the text rests, keeps its place, and follows
// the cursor; a step that is opened in the page is shown in the text.

import * as vscode from "vscode";
import type { Client } from "./client";
import { inWebview } from "./page";

const REST_MILLISECONDS = 400;

export class Preview implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private shown: vscode.TextDocument | undefined;
  private at = new vscode.Position(0, 0);
  private step: string | null = null;
  private place = ""; // the address in the page, with its layer and the like
  private waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly client: () => Client | undefined) {}

  async show(editor: vscode.TextEditor | undefined): Promise<void> {
    if (editor === undefined) return;
    this.shown = editor.document;
    this.at = editor.selection.active;
    if (this.panel === undefined) {
      const options = { enableScripts: true, retainContextWhenHidden: true, localResourceRoots: [] };
      this.panel = vscode.window.createWebviewPanel("workrail.preview", "WorkRail", { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, options);
      this.panel.webview.onDidReceiveMessage((message: { place: string; step: string | null }) => this.opened(message));
      this.panel.onDidDispose(() => {
        this.panel = undefined;
        this.shown = undefined;
      });
    }
    await this.update();
  }

  /** The cursor moved: show its step, of another workflow the whole page. */
  async follow(editor: vscode.TextEditor): Promise<void> {
    if (this.panel === undefined || editor.document.languageId !== "json") return;
    if (!vscode.workspace.getConfiguration("workrail").get<boolean>("preview.followCursor", true)) return;
    this.at = editor.selection.active;
    if (editor.document !== this.shown) {
      this.shown = editor.document;
      await this.update();
      return;
    }
    const answer = await this.client()?.preview(editor.document, this.at, false);
    if (answer && answer.step !== this.step) {
      this.step = answer.step;
      await this.panel?.webview.postMessage({ workflow: answer.id, step: answer.step });
    }
  }

  /** The page went somewhere: remember where, and show its step in the text. */
  private async opened({ place, step }: { place: string; step: string | null }): Promise<void> {
    this.place = place;
    if (step === null || step === this.step || this.shown === undefined) return;
    this.step = step;
    const editor = vscode.window.visibleTextEditors.find((each) => each.document === this.shown);
    const command = "vscode.executeDocumentSymbolProvider";
    const symbols = await vscode.commands.executeCommand<vscode.DocumentSymbol[] | undefined>(command, this.shown.uri);
    const all = (symbols ?? []).flatMap((each) => [each, ...each.children]);
    const symbol = all.find((each) => each.name === step);
    if (editor === undefined || symbol === undefined) return;
    editor.selection = new vscode.Selection(symbol.selectionRange.start, symbol.selectionRange.start);
    editor.revealRange(symbol.range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  /** The text changed: wait until it rests. */
  refresh(document: vscode.TextDocument): void {
    if (this.panel === undefined || document !== this.shown) return;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => void this.update(), REST_MILLISECONDS);
  }

  private async update(): Promise<void> {
    if (this.panel === undefined || this.shown === undefined) return;
    const answer = await this.client()?.preview(this.shown, this.at, true);
    if (!answer?.page) return; // not a workflow, or not readable for a moment: what is shown stays
    this.step = answer.step;
    this.panel.title = answer.id ?? "WorkRail";
    this.panel.webview.html = inWebview(answer.page, answer.id, answer.step, this.place);
  }

  dispose(): void {
    clearTimeout(this.waiting);
    this.panel?.dispose();
  }
}
