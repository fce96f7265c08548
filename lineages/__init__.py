"""Floor 2: the one Django app. Areas: gates < library < growth < review."""
