"""docker-compose.yml from nothing to a grown generation, on stand-ins for the two images of others."""

from __future__ import annotations

import json
import os
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import docker
import docker.errors
import pytest

from tests.compose.installation import ROOT, Browser, Installation
from tests.conftest import REQUIRED

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

SERVICES = {"web", "worker-agents", "worker-sandboxes", "beat", "migrate", "postgres", "redis"}
SECRETS = ("django_secret_key", "postgres_password", "redis_password", "flower_login")
ENDED = ("accepted", "exhausted", "failed", "cancelled")
PASSWORD = "a-password-of-the-test-7"

Containers = dict[str, dict[str, Any]]


def _missing() -> str:
    """Why this machine cannot run the file, or nothing."""
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        return "the docker command has no compose plugin: run `scripts/services up`"
    if not os.environ.get("DOCKER_HOST", "unix://").startswith("unix://"):
        return "the engine is on another machine, which does not see the secrets' files"
    return ""


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Up from nothing, and taken away again with everything it made."""
    if missing := _missing():
        (pytest.fail if "docker" in REQUIRED else pytest.skip)(missing)
    name = f"envevo-test-{uuid.uuid4().hex[:8]}"
    folder = tmp_path_factory.mktemp("secrets")
    subprocess.run([ROOT / "scripts" / "secrets", folder], check=True, capture_output=True)
    made = Installation(name, folder)
    try:
        made.compose("build")
        made.compose("up", "--detach", "--wait", "--wait-timeout", "180")
        yield made
    finally:
        made.compose("down", "--volumes", "--remove-orphans", "--timeout", "5")
        _forget(name)


def _forget(name: str) -> None:
    """The installation's images, those of its sandboxes included."""
    with closing(docker.from_env()) as engine:
        mine = engine.images.list(filters={"label": f"org.envevo.instance={name}"})
        for tag in (name, f"{name}-sandboxes", *(tag for image in mine for tag in image.tags)):
            with suppress(docker.errors.ImageNotFound):  # where the build has failed
                engine.images.remove(tag, force=True)


@pytest.fixture(scope="module")
def containers(installation: Installation) -> Containers:
    """Each service's container as the engine describes it."""
    found = installation.containers()
    assert set(found) == SERVICES
    return found


@pytest.fixture(scope="module")
def ada(installation: Installation) -> Browser:
    """The admin, made as docs/how-to/deploy.md says, and signed in."""
    create = "python manage.py createsuperuser --noinput --username ada --email ada@example.org".split()
    installation.compose("exec", "-T", "-e", f"DJANGO_SUPERUSER_PASSWORD={PASSWORD}", "web", *create)
    browser = Browser(installation.address)
    assert browser.post("/login/", username="ada", password=PASSWORD) == "/"
    return browser


@pytest.fixture(scope="module")
def seed(installation: Installation, ada: Browser) -> int:
    installation.run("web", "python", "manage.py", "import_tasks", "seeds/log-forensics")
    return int(installation.row("SELECT id FROM lineages_environment")[0])


def sandboxes(engine: Any, installation: Installation) -> list[Any]:
    label = f"org.envevo.instance={installation.name}"
    return list(engine.containers.list(all=True, filters={"label": label}))


def status(installation: Installation) -> str:
    return installation.row("SELECT status FROM lineages_evolution")[0]


def test_up_from_nothing_migrates_and_serves_the_dashboard(installation: Installation, ada: Browser) -> None:
    assert installation.containers()["migrate"]["State"]["ExitCode"] == 0
    assert "<h1>What needs you</h1>" in ada.get("/")
    assert json.loads(Browser(installation.address).get("/healthz")) == {"database": "ok", "broker": "ok"}


def test_only_the_web_publishes_a_port_and_only_on_this_machine(containers: Containers) -> None:
    published = {service: each["HostConfig"]["PortBindings"] for service, each in containers.items()}

    [(port, [binding])] = published.pop("web").items()
    assert (port, binding["HostIp"]) == ("8000/tcp", "127.0.0.1")
    assert not any(published.values())


def test_only_the_sandbox_worker_has_the_engines_socket(containers: Containers) -> None:
    mounts = {
        service: {mount["Destination"] for mount in each["Mounts"]} for service, each in containers.items()
    }

    with_socket = {service for service, places in mounts.items() if "/var/run/docker.sock" in places}
    with_content = {service for service, places in mounts.items() if "/data" in places}
    assert with_socket == {"worker-sandboxes"}
    assert with_content == {"web", "worker-agents", "worker-sandboxes"}


def test_no_secret_stands_where_the_engine_or_the_process_list_shows_it(
    installation: Installation, containers: Containers
) -> None:
    secrets = [(installation.folder / name).read_text().strip() for name in SECRETS]

    for service, container in containers.items():
        shown = json.dumps(container)
        if container["State"]["Running"]:
            shown += subprocess.check_output(["docker", "top", container["Id"], "-eo", "pid,args"], text=True)
        assert not [service for secret in secrets if secret in shown]


def test_the_image_of_the_web_holds_what_runs_and_no_more(installation: Installation) -> None:
    inside = installation.run(
        "web", "sh", "-c", "ls -A /app; for it in docker gcc make; do command -v $it; done; true"
    )

    assert set(inside.split()) == {
        "LICENSE", "agents", "envevo_site", "lineages", "manage.py", "requirements-flower.lock",
        "requirements.lock", "sandboxes", "seeds", "static", "templates",
    }  # fmt: skip


def test_no_container_has_root_capabilities_or_a_writable_root(containers: Containers) -> None:
    for service, container in containers.items():
        host = container["HostConfig"]
        assert container["Config"]["User"] in ("envevo", "postgres", "redis"), service
        assert host["ReadonlyRootfs"] and host["CapDrop"] == ["ALL"], service
        assert host["SecurityOpt"] == ["no-new-privileges:true"], service
        assert not host["Privileged"] and host["LogConfig"]["Config"]["max-size"] == "10m", service


def test_a_generation_grows_in_docker_although_its_worker_is_killed_in_the_middle(
    installation: Installation, ada: Browser, seed: int, engine: Any
) -> None:
    page = ada.post(
        f"/environments/{seed}/evolve/",
        generations=1, effort="high", directions=["length"], approval="auto", seed=0,
    )  # fmt: skip
    installation.until(lambda: status(installation) in ("verifying", *ENDED), "a verifying step", every=0.05)
    assert status(installation) == "verifying"
    # All that the container's user may kill, so all but the init; the engine sees a process that ended badly.
    installation.run("worker-sandboxes", "sh", "-c", "kill -9 -1")
    installation.until(lambda: status(installation) in ENDED, "the end")

    assert status(installation) == "accepted"
    assert installation.containers()["worker-sandboxes"]["RestartCount"] == 1
    assert installation.row(
        "SELECT count(*), bool_or(provisional) FROM lineages_environment WHERE generation = 1"
    ) == ["1", "f"]
    assert "accepted" in ada.get(page)
    installation.until(lambda: not sandboxes(engine, installation), "the killed worker's sandboxes are swept")


def test_workers_hear_again_after_the_broker_was_restarted(installation: Installation) -> None:
    installation.compose("restart", "redis")
    restarted = time.time()

    for service in ("worker-agents", "worker-sandboxes"):
        installation.until(lambda: installation.heard(service) > restarted, f"a message reaches {service}")  # noqa: B023


def test_down_leaves_nothing_behind(installation: Installation, engine: Any) -> None:
    installation.compose("down", "--volumes", "--timeout", "5")

    mine = {"label": f"com.docker.compose.project={installation.name}"}
    assert not engine.containers.list(all=True, filters=mine)
    assert not engine.volumes.list(filters=mine)
    assert not engine.networks.list(filters=mine)
    assert not sandboxes(engine, installation)
