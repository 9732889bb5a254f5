"""Automata as Markov decision processes: their states, their moves, and what they are worth, exactly."""
