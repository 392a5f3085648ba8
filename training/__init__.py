"""Train and evaluate."""
