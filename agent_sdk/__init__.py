"""Permission callbacks for AI agents: it asks at the right moment, and the answer is obeyed exactly."""
