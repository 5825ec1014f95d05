"""The agents, one algorithm a file; the registry `gim.agent.agents` finds them."""
