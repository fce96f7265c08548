from django.urls import path

from lineages import converters
from lineages.review import answer_views, environment_views, override_views, rubric_views, views
from lineages.review.bench import views as bench_views

converters.register()

urlpatterns = [
    path("answers/", answer_views.answer_list, name="answer_list"),
    path("calls/<key:pk>/answer/", answer_views.call_answer, name="call_answer"),
    path("environments/<key:pk>/", environment_views.environment_detail, name="environment_detail"),
    path(
        "environments/<key:pk>/withdraw/", environment_views.environment_withdraw, name="environment_withdraw"
    ),
    path("environments/<key:pk>/free/", environment_views.environment_free, name="environment_free"),
    path("gates/<key:pk>/", environment_views.gate_detail, name="gate_detail"),
    path("gates/<key:pk>/void/", environment_views.gate_void, name="gate_void"),
    path("reviews/<key:pk>/override/", override_views.review_override, name="review_override"),
    path("reviewers/", bench_views.bench_list, name="bench_list"),
    path("reviewers/<key:pk>/", bench_views.bench_detail, name="bench_detail"),
    path("rubrics/", rubric_views.rubric_list, name="rubric_list"),
    path("rubrics/<slug:name>/<key:ordinal>/", rubric_views.rubric_version, name="rubric_version"),
    path("rubrics/<slug:name>/new/", rubric_views.criterion_add, name="criterion_add"),
    path(
        "rubrics/<slug:name>/change/<slug:criterion>/", rubric_views.criterion_change, name="criterion_change"
    ),
    path(
        "rubrics/<slug:name>/retire/<slug:criterion>/", rubric_views.criterion_retire, name="criterion_retire"
    ),
    path("plans/<key:pk>/", views.plan_detail, name="plan_detail"),
    path("plans/<key:pk>/<decision:decision>/", views.plan_decide, name="plan_decide"),
    path("candidates/<key:pk>/", views.candidate_detail, name="candidate_detail"),
    path("candidates/<key:pk>/<decision:decision>/", views.candidate_decide, name="candidate_decide"),
]
