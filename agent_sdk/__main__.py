"""`python -m agent_sdk` is the command `agent-sdk`."""

from __future__ import annotations

import sys

from agent_sdk.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
