"""What trainers use: everything here runs in the trainer's own process, without a server."""
