"""What plays: agents, in this process or at an address. Outside the pure core."""
