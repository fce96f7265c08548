from django.urls import path

from lineages import converters
from lineages.growth import views

converters.register()

urlpatterns = [
    path("", views.home, name="home"),
    path("lineages/", views.lineage_list, name="lineage_list"),
    path("lineages/<slug:slug>/", views.lineage_detail, name="lineage_detail"),
    path("environments/<key:pk>/evolve/", views.evolution_start, name="evolution_start"),
    path("environments/<key:pk>/verify/", views.environment_verify, name="environment_verify"),
    path("evolutions/<key:pk>/", views.evolution_detail, name="evolution_detail"),
    path("evolutions/<key:pk>/<action:action>/", views.evolution_act, name="evolution_act"),
]
