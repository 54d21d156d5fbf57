"""Drawings: what a document of any system looks like, as Mermaid, Graphviz, SVG or plain data."""
