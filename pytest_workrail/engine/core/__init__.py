"""The pure core: an IR, a state, a context and artifacts in; the next step, its prompt and its verdict out."""
