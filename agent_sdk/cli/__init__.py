"""The command `agent-sdk`."""
