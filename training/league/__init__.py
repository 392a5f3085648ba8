"""A league: who plays whom, kept in one file, rated on one scale."""
