"""The agents, one algorithm a file; the registry `gim.runs.agent.agents` finds them."""
