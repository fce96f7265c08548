from django.urls import path, register_converter

from lineages.library import views


class FormatConverter:
    regex = r"zip|tar\.gz"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class StreamConverter(FormatConverter):
    regex = "stdout|stderr"


register_converter(FormatConverter, "format")
register_converter(StreamConverter, "stream")

urlpatterns = [
    path("environments/<int:pk>/", views.environment_detail, name="environment_detail"),
    path("environments/<int:pk>/gates/", views.environment_gates, name="environment_gates"),
    path("environments/<int:pk>/files/", views.environment_file, name="environment_files"),
    path("environments/<int:pk>/files/<path:path>", views.environment_file, name="environment_file"),
    path("environments/<int:pk>/raw/<path:path>", views.environment_raw, name="environment_raw"),
    path(
        "environments/<int:pk>/download/<format:form>/",
        views.environment_download,
        name="environment_download",
    ),
    path("gates/<int:pk>/", views.gate_detail, name="gate_detail"),
    path("calls/<int:pk>/", views.call_detail, name="call_detail"),
    path("commands/<int:pk>/<stream:stream>/", views.command_output, name="command_output"),
]
