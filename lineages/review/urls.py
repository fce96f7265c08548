from django.urls import path, register_converter

from lineages.review import views


class DecisionConverter:
    regex = "approve|reject|changes"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(DecisionConverter, "decision")

urlpatterns = [
    path("plans/<int:pk>/", views.plan_detail, name="plan_detail"),
    path("plans/<int:pk>/<decision:decision>/", views.plan_decide, name="plan_decide"),
    path("candidates/<int:pk>/", views.candidate_detail, name="candidate_detail"),
    path("candidates/<int:pk>/<decision:decision>/", views.candidate_decide, name="candidate_decide"),
]
