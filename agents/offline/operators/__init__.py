"""One file an operator, each with one module-level `OPERATOR`. `agents.offline.families` finds them."""
