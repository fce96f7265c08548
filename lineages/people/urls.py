from django.urls import path

from lineages import converters
from lineages.people import views

converters.register()

urlpatterns = [
    path("people/", views.person_list, name="person_list"),
    path("people/<key:pk>/", views.person_detail, name="person_detail"),
    path("people/<key:pk>/<change:change>/", views.person_change, name="person_change"),
    path("account/", views.account_detail, name="account_detail"),
    path("account/sessions/", views.account_sessions, name="account_sessions"),
]
