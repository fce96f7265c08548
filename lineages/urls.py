from django.urls import include, path

urlpatterns = [
    path("", include("lineages.library.urls")),
    path("", include("lineages.growth.urls")),
    path("", include("lineages.review.urls")),
    path("", include("lineages.reports.urls")),
    path("", include("lineages.people.urls")),
]
