"""The two loops: plans, candidates, and the evolutions that carry them from a parent to a child."""
