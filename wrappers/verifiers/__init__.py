"""What the `verifiers` plugins share. They install beside it, as ``wager_garble`` and so on."""
