"""Matches of scripted policies, learned models and chat endpoints, under a clock."""
