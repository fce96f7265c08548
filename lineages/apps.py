from django.apps import AppConfig


class LineagesConfig(AppConfig):
    name = "lineages"
    default_auto_field = "django.db.models.BigAutoField"
