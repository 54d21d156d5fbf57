"""The MCP server: the engine's tools, or those for authors, for any client that speaks the protocol.

- `tools` says what a set of tools is, and has no idea of MCP.
- `engine_tools` are those of the engine, with the words of `engine_words`; `authoring_tools` are those for authors.
- `workspace` reads folders of the machine: version control, bindings.
- `server` puts a set on stdin and stdout with the official SDK, and nothing else imports that.

Who records sessions or generates scenarios is passed in: these rooms lie beside this one.
"""
