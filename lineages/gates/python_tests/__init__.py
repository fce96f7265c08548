"""What a Python test asks of the solver's work, read from its syntax.

This package is run in a process of its own with limits (`lineages.gates.asked`), from a folder on the path
and without any other package: it imports the standard library and itself, by relative names.
"""
