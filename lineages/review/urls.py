from django.urls import path

from lineages import converters
from lineages.review import views

converters.register()

urlpatterns = [
    path("plans/<key:pk>/", views.plan_detail, name="plan_detail"),
    path("plans/<key:pk>/<decision:decision>/", views.plan_decide, name="plan_decide"),
    path("candidates/<key:pk>/", views.candidate_detail, name="candidate_detail"),
    path("candidates/<key:pk>/<decision:decision>/", views.candidate_decide, name="candidate_decide"),
]
