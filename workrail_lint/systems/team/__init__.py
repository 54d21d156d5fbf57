"""The agent-team contract: a session folder, its documents, the state machine behind them, and the rules."""
