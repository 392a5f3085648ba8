"""The `wager` command."""
