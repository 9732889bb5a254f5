"""What a pack may hold but hardly should. `deskproof check` alone looks for it; each is a warning by default."""
