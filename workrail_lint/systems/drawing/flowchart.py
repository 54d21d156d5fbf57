"""The structure of a workflow as a chart for Mermaid and Graphviz: steps, decisions, and edges with words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from workrail_lint.systems.drawing.shapes import Block, Branch, Card, Group, Switch
from workrail_lint.systems.drawing.texts import clean, fitted

_COLUMNS = 48
# Mermaid writes entities with a number sign; a quote ends a label, an angle bracket begins markup, a backtick Markdown.
_MERMAID_SPECIAL = re.compile(r"""["#&;<>`|]""")

_Exit = tuple[str, str]  # a node, and what is said at the edge that leaves it


@dataclass(slots=True)
class _Node:
    name: str
    kind: str  # step, decision, virtual
    texts: tuple[str, ...]


@dataclass(slots=True)
class _Cluster:
    """Nodes and clusters that are drawn inside of a frame; the outermost has no name."""

    name: str = ""
    texts: tuple[str, ...] = ()
    inner: list[_Node | _Cluster] = field(default_factory=list)


class _Chart:
    def __init__(self, blocks: Sequence[Block]) -> None:
        self.root = _Cluster()
        self.edges: list[tuple[str, str, str, bool]] = []  # from, to, words, whether it leads back
        self._count = 0
        self._sequence(blocks, self.root)

    def _name(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def _sequence(self, blocks: Sequence[Block], cluster: _Cluster) -> tuple[list[str], list[_Exit]]:
        entries: list[str] = []
        exits: list[_Exit] = []
        for block in blocks:
            ins, outs = self._block(block, cluster)
            self.edges += [(source, target, words, False) for source, words in exits for target in ins]
            entries, exits = entries or ins, outs
        return entries, exits

    def _block(self, block: Block, cluster: _Cluster) -> tuple[list[str], list[_Exit]]:
        match block:
            case Card():
                return self._card(block, cluster)
            case Branch():
                return self._decision(block.label(), [("yes", block)], "no", cluster)
            case Switch():
                lanes = [(lane.label(block.subject), lane) for lane in block.lanes]
                otherwise = None if block.is_complete else "otherwise"
                return self._decision(block.subject or "which of these", lanes, otherwise, cluster)
            case Group():
                return self._group(block, cluster)

    def _card(self, card: Card, cluster: _Cluster) -> tuple[list[str], list[_Exit]]:
        kind = "virtual" if card.writer == "virtual" else "step"
        node = _Node(self._name(), kind, (card.title, *(note.text for note in card.notes)))
        cluster.inner.append(node)
        return [node.name], [(node.name, "")]

    def _decision(
        self, text: str, lanes: list[tuple[str, Branch]], otherwise: str | None, cluster: _Cluster
    ) -> tuple[list[str], list[_Exit]]:
        node = _Node(self._name(), "decision", (text,))
        cluster.inner.append(node)
        exits: list[_Exit] = []
        for words, lane in lanes:
            ins, outs = self._sequence(lane.items, cluster)
            self.edges += [(node.name, target, words, False) for target in ins]
            exits += outs
        return [node.name], exits if otherwise is None else [*exits, (node.name, otherwise)]

    def _group(self, group: Group, cluster: _Cluster) -> tuple[list[str], list[_Exit]]:
        bound = () if group.bound is None else (f"at most {times(group.bound)}",)
        frame = _Cluster(self._name(), tuple(filter(None, (group.title, group.note, *bound))))
        cluster.inner.append(frame)
        if group.kind != "parallel":
            entries, exits = self._sequence(group.items, frame)
            if group.kind == "loop":
                self.edges += [(source, target, "again", True) for source, _ in exits for target in entries]
            return entries, exits
        ends = [self._block(item, frame) for item in group.items]
        return [name for ins, _ in ends for name in ins], [out for _, outs in ends for out in outs]


def times(count: float) -> str:
    return "once" if count == 1 else f"{count} times"


def mermaid(blocks: Sequence[Block]) -> str:
    """Return a flowchart for Mermaid."""
    chart = _Chart(blocks)
    lines = ["flowchart TD", *_mermaid_cluster(chart.root, "  ")]
    for source, target, words, is_back in chart.edges:
        arrow, label = "-.->" if is_back else "-->", f"|{_mermaid_label(words)}|" if words else ""
        lines.append(f"  {source} {arrow}{label} {target}")
    return "\n".join(lines) + "\n"


def _mermaid_cluster(cluster: _Cluster, indent: str) -> Iterable[str]:
    for item in cluster.inner:
        if isinstance(item, _Cluster):
            yield f"{indent}subgraph {item.name}[{_mermaid_label(*item.texts)}]"
            yield from _mermaid_cluster(item, f"{indent}  ")
            yield f"{indent}end"
            continue
        opened, closed = {"step": ("[", "]"), "decision": ("{", "}"), "virtual": ("([", "])")}[item.kind]
        yield f"{indent}{item.name}{opened}{_mermaid_label(*item.texts)}{closed}"


def _mermaid_label(*texts: str) -> str:
    escaped = (_MERMAID_SPECIAL.sub(lambda match: f"#{ord(match[0])};", line) for line in _lines(texts))
    return '"' + "<br/>".join(escaped) + '"'


def dot(blocks: Sequence[Block], name: str) -> str:
    """Return a graph for Graphviz."""
    chart = _Chart(blocks)
    lines = [f"digraph {_quoted([clean(name)])} {{", "  node [shape=box, style=rounded];"]
    lines += _dot_cluster(chart.root, "  ")
    for source, target, words, is_back in chart.edges:
        options = [f"label={_quoted(_lines((words,)))}"] if words else []
        options += ["style=dashed", "constraint=false"] if is_back else []
        text = f" [{', '.join(options)}]" if options else ""
        lines.append(f"  {source} -> {target}{text};")
    return "\n".join([*lines, "}"]) + "\n"


_DOT_SHAPES = {"step": "", "decision": ", shape=diamond, style=solid", "virtual": ', style="rounded,dashed"'}


def _dot_cluster(cluster: _Cluster, indent: str) -> Iterable[str]:
    for item in cluster.inner:
        if isinstance(item, _Cluster):
            yield f"{indent}subgraph cluster_{item.name} {{"
            yield f"{indent}  label={_quoted(_lines(item.texts))};"
            yield from _dot_cluster(item, f"{indent}  ")
            yield f"{indent}}}"
            continue
        yield f"{indent}{item.name} [label={_quoted(_lines(item.texts))}{_DOT_SHAPES[item.kind]}];"


def _quoted(lines: list[str]) -> str:
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'


def _lines(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in fitted(text, _COLUMNS)]
