"""Views of the games: features and actions for learning, adapters for training libraries."""
