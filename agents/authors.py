"""The authors there are, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agents.offline.author import offline_author
from agents.roles import AgentsError, Author
from agents.scripted import SCRIPTS

AUTHORS: Mapping[str, Callable[[], Author]] = {"offline": offline_author}


def author(name: str) -> Author:
    """Raises `AgentsError`, which names those that exist, for any other name.

    Scripted authors exist only where a test has put them.
    """
    if name in SCRIPTS:
        return SCRIPTS[name].author(name)
    if name not in AUTHORS:
        raise AgentsError(f"there is no author called {name!r}; there is: {', '.join(sorted(AUTHORS))}")
    return AUTHORS[name]()
