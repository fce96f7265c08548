"""The product's own settings over a folder that goes away, on the database that `ENVEVO_TEST_ON` names.

Of tests that run side by side each process has a folder, and with it an instance, of its own; the workers
that a test starts share their test's.
"""

import os
import tempfile

os.environ.setdefault("ENVEVO_VAR", tempfile.mkdtemp(prefix="envevo-test-"))
if os.environ.get("ENVEVO_TEST_SIDE", "") != os.environ.get("PYTEST_XDIST_WORKER", ""):
    os.environ["ENVEVO_VAR"] = tempfile.mkdtemp(prefix="envevo-test-")
    os.environ["ENVEVO_TEST_SIDE"] = os.environ["PYTEST_XDIST_WORKER"]
os.environ.setdefault("ENVEVO_SANDBOX", "bubblewrap")
os.environ["ENVEVO_FAULT_BACKOFF_SECONDS"] = "0.2"
if os.environ.get("ENVEVO_TEST_ON") == "postgres":
    os.environ.setdefault("ENVEVO_DATABASE_URL", os.environ["ENVEVO_TEST_DATABASE_URL"])
if os.environ.get("ENVEVO_TEST_REDIS_URL"):
    os.environ["ENVEVO_REDIS_URL"] = os.environ["ENVEVO_TEST_REDIS_URL"]

from agents.scripted import SCRIPTS, Script, clumsy, picky
from envevo_site.settings import *  # noqa: F403
from envevo_site.settings import DATABASES, VAR

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, so that worker processes and threads see the same database as the test.
    DATABASES["default"]["TEST"] = {"NAME": str(VAR / "test.sqlite3")}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

SCRIPTS.update({"scripted": Script(), "scripted-clumsy": clumsy(), "scripted-picky": picky()})
