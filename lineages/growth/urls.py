from django.urls import path

from lineages import converters
from lineages.growth import campaign_views, compare_views, import_views, views

converters.register()

urlpatterns = [
    path("", views.home, name="home"),
    path("lineages/", views.lineage_list, name="lineage_list"),
    path("lineages/<slug:slug>/", views.lineage_detail, name="lineage_detail"),
    path("compare/", compare_views.compare_choose, name="compare_choose"),
    path("compare/<str:left>/<str:right>/", compare_views.compare_detail, name="compare_detail"),
    path("candidates/<key:pk>/raw/<path:path>", compare_views.candidate_raw, name="candidate_raw"),
    path("environments/<key:pk>/evolve/", views.evolution_start, name="evolution_start"),
    path("environments/<key:pk>/verify/", views.environment_verify, name="environment_verify"),
    path(
        "environments/<key:pk>/requirements/", views.environment_requirements, name="environment_requirements"
    ),
    path("evolutions/<key:pk>/", views.evolution_detail, name="evolution_detail"),
    path("evolutions/<key:pk>/<action:action>/", views.evolution_act, name="evolution_act"),
    path("import/", import_views.import_start, name="import_start"),
    path("imports/<key:pk>/", import_views.import_detail, name="import_detail"),
    path("imports/<key:pk>/verify/", import_views.import_verify, name="import_verify"),
    path("campaigns/", campaign_views.campaign_list, name="campaign_list"),
    path("campaigns/new/", campaign_views.campaign_start, name="campaign_start"),
    path("campaigns/<key:pk>/", campaign_views.campaign_detail, name="campaign_detail"),
    path("campaigns/<key:pk>/limit/", campaign_views.campaign_limit, name="campaign_limit"),
    path("campaigns/<key:pk>/<action:action>/", campaign_views.campaign_act, name="campaign_act"),
]
