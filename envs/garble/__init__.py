"""Garble: five seats trade over a noisy radio; deals settle on what was confirmed, not said."""
