from django.urls import path, register_converter

from lineages.growth import views


class ActionConverter:
    regex = "cancel|pause|resume|move_back"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(ActionConverter, "action")

urlpatterns = [
    path("", views.home, name="home"),
    path("lineages/", views.lineage_list, name="lineage_list"),
    path("lineages/<slug:slug>/", views.lineage_detail, name="lineage_detail"),
    path("environments/<int:pk>/evolve/", views.evolution_start, name="evolution_start"),
    path("environments/<int:pk>/verify/", views.environment_verify, name="environment_verify"),
    path("evolutions/<int:pk>/", views.evolution_detail, name="evolution_detail"),
    path("evolutions/<int:pk>/<action:action>/", views.evolution_act, name="evolution_act"),
]
