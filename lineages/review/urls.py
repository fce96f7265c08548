from django.urls import path

from lineages import converters
from lineages.review import environment_views, override_views, views

converters.register()

urlpatterns = [
    path("environments/<key:pk>/", environment_views.environment_detail, name="environment_detail"),
    path(
        "environments/<key:pk>/withdraw/", environment_views.environment_withdraw, name="environment_withdraw"
    ),
    path("environments/<key:pk>/free/", environment_views.environment_free, name="environment_free"),
    path("gates/<key:pk>/", environment_views.gate_detail, name="gate_detail"),
    path("gates/<key:pk>/void/", environment_views.gate_void, name="gate_void"),
    path("reviews/<key:pk>/override/", override_views.review_override, name="review_override"),
    path("plans/<key:pk>/", views.plan_detail, name="plan_detail"),
    path("plans/<key:pk>/<decision:decision>/", views.plan_decide, name="plan_decide"),
    path("candidates/<key:pk>/", views.candidate_detail, name="candidate_detail"),
    path("candidates/<key:pk>/<decision:decision>/", views.candidate_decide, name="candidate_decide"),
]
