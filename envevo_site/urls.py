from django.contrib.auth import views as auth
from django.urls import include, path

from envevo_site.logins import SignInForm

handler400 = "envevo_site.errors.bad_request"
handler403 = "envevo_site.errors.permission_denied"
handler404 = "envevo_site.errors.page_not_found"
handler500 = "envevo_site.errors.server_error"

urlpatterns = [
    path(
        "login/",
        auth.LoginView.as_view(redirect_authenticated_user=True, authentication_form=SignInForm),
        name="login",
    ),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("", include("lineages.urls")),
]
