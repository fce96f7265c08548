"""Reviewers are measured: plans and environments whose faults are known, and a count of what was seen."""
