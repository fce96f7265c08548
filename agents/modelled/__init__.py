"""Roles that a model plays: a prompt, an answer in a form, and checks of that answer by code."""
