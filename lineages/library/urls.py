from django.urls import path

from lineages import converters
from lineages.library import conversation_views, views

converters.register()

urlpatterns = [
    path("gates/", views.gate_list, name="gate_list"),
    path("environments/<key:pk>/gates/", views.environment_gates, name="environment_gates"),
    path("environments/<key:pk>/files/", views.environment_file, name="environment_files"),
    path("environments/<key:pk>/files/<path:path>", views.environment_file, name="environment_file"),
    path("environments/<key:pk>/raw/<path:path>", views.environment_raw, name="environment_raw"),
    path(
        "environments/<key:pk>/download/<format:form>/",
        views.environment_download,
        name="environment_download",
    ),
    path("calls/<key:pk>/", views.call_detail, name="call_detail"),
    path("calls/<key:pk>/<body:body>/", views.call_body, name="call_body"),
    path("conversations/<key:pk>/", conversation_views.conversation_detail, name="conversation_detail"),
    path("commands/<key:pk>/<stream:stream>/", views.command_output, name="command_output"),
]
