from django.urls import path

from lineages.reports import cost_views, model_views

urlpatterns = [
    path("costs/", cost_views.cost_list, name="cost_list"),
    path("models/", model_views.model_list, name="model_list"),
    path("models/<str:name>/resume/", model_views.model_resume, name="model_resume"),
]
