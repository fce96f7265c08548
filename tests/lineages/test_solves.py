"""What solvers left is kept once, in bounds, and comes back as it was."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lineages.library import solves
from lineages.library.models import Audit, Environment, GateResult, HandoverFile, Solve
from sandboxes.files import TaskFile
from sandboxes.handover import Delivery
from sandboxes.trial import Solved

pytestmark = pytest.mark.django_db

KEY = "0" * 64
FILES = {"/app/out/run": TaskFile(b"one", 0o755), "/app/out/again": TaskFile(link="run")}


def result(seed: Environment) -> GateResult:
    audit = Audit.objects.create(snapshot=seed.snapshot, backend="bubblewrap", judge="offline")
    return GateResult.objects.create(
        audit=audit, gate="oracle", gate_version=1, key=KEY, outcome="passed", summary="",
        started_at=datetime.now(UTC), seconds=1,
    )  # fmt: skip


def left(files: dict[str, TaskFile]) -> Solved:
    gone = Delivery("/app/big", folder=False, files={}, refused="/app/big holds too much")
    return Solved((Delivery("/app/out", folder=True, files=files), gone))


def read_back() -> Solved:
    rows = {
        solve.key: tuple((each, tuple(each.files.all())) for each in solve.handovers.all())
        for solve in Solve.objects.all()
    }
    return solves.KeptSolves(rows)[KEY]


def test_the_first_under_a_key_stays_whoever_comes_at_the_same_moment(seed: Environment) -> None:
    solves.keep({KEY: left(FILES)}, result(seed))
    solves.keep({KEY: left({"/app/out/run": TaskFile(b"two")})}, result(seed))

    assert Solve.objects.count() == 1
    assert read_back() == left(FILES), "modes, links and what was refused too"


@pytest.mark.parametrize(("bound", "most"), [("MOST_FILES", 1), ("MOST_BYTES", 2)])
def test_what_is_too_much_is_not_kept_at_all(
    bound: str, most: int, seed: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solves, bound, most)

    solves.keep({KEY: left(FILES)}, result(seed))

    assert not Solve.objects.exists() and not HandoverFile.objects.exists()


def test_a_name_that_cannot_be_stored_as_it_is_is_not_kept(seed: Environment) -> None:
    solves.keep({KEY: left({"/app/out/\udc80": TaskFile(b"one")})}, result(seed))

    assert not Solve.objects.exists()
