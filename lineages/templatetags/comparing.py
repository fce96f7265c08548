"""Links to comparisons."""

from __future__ import annotations

from django import template

from lineages.growth import sides
from lineages.library.models import Environment

register = template.Library()
register.filter("side", sides.name_of)


@register.simple_tag
def others(environment: Environment) -> list[Environment]:
    """The lineage's other environments, the oldest first, with no more than their names need."""
    rest = environment.lineage.environments.exclude(pk=environment.pk)
    return list(rest.only("lineage", "generation", "k"))
