"""How well a reviewer reviews, measured on labelled plans and environments."""
