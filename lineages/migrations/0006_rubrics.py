from django.db import migrations, models


class Migration(migrations.Migration):
    """Who retires what was added last comes back to an earlier wording, in a version of its own."""

    dependencies = [("lineages", "0005_models")]

    operations = [
        migrations.AlterField(
            model_name="rubricversion",
            name="version",
            field=models.CharField(db_index=True, max_length=64),
        ),
    ]
