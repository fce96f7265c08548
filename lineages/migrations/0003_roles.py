"""The four roles as groups. Whoever had an account before roles came keeps what they could do: operator."""

from typing import Any

from django.db import migrations

ROLES = ("viewer", "reviewer", "operator", "admin")


def make(apps: Any, schema_editor: Any) -> None:
    group, user = apps.get_model("auth", "Group"), apps.get_model("auth", "User")
    groups = {name: group.objects.get_or_create(name=name)[0] for name in ROLES}
    for account in user.objects.filter(groups=None, is_superuser=False):
        account.groups.add(groups["operator"])


class Migration(migrations.Migration):
    dependencies = [("lineages", "0002_wider"), ("auth", "0012_alter_user_first_name_max_length")]
    operations = [migrations.RunPython(make, migrations.RunPython.noop)]
