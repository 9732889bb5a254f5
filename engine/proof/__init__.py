"""What is true of every ticket of a pack, exactly: the proof of docs/proof.md."""
