"""The attack on small counts in a short version, and a proof that it finds what weaker rules leave open."""

import numpy as np
import pytest

from fairalm.report import audit_release, release
from tools.attack.people import made_up
from tools.attack.privacy import attacked, possible
from tools.attack.worlds import AuditWorld, LabelWorld, RunWorld


def hiding(kind, seed):
    """A made-up world of a kind that hides something."""
    return next(w for w in made_up(np.random.default_rng(seed), 40) if type(w) is kind and w.small())


@pytest.mark.slow
def test_no_hidden_count_is_recovered():
    outcome = attacked("short", made_up(np.random.default_rng(1), 12), most_each=4, whole=1000)
    assert outcome.tries >= 30
    assert outcome.failures["silent"] == []
    assert "; 0 narrow;" in outcome.note


@pytest.mark.slow
def test_no_hidden_count_of_a_label_is_recovered():
    worlds = [world for world in made_up(np.random.default_rng(1), 30) if isinstance(world, LabelWorld)]
    assert {world.attributes for world in worlds} == {"both", "separate"}
    assert {"y" in world.frame for world in worlds} == {True, False}
    outcome = attacked("labels", worlds, most_each=3, whole=1000)
    assert outcome.tries >= 12
    assert outcome.failures["silent"] == []
    assert "; 0 narrow;" in outcome.note


@pytest.mark.parametrize("kind", [RunWorld, AuditWorld, LabelWorld])
def test_the_attack_recovers_counts_from_a_fingerprint(monkeypatch, kind):
    """It is computed from all rows, so each table has its own."""
    data, shown = release._data, audit_release._released
    monkeypatch.setattr(
        release, "_data", lambda run, *more: data(run, *more) | {"fingerprint": run.metrics["data"]["fingerprint"]}
    )
    monkeypatch.setattr(audit_release, "_released", lambda audit, *more: shown(audit, *more) | {"data": audit["data"]})
    world = hiding(kind, 3)
    cell = world.small()[0]
    assert possible(world, cell, tries=1) == {world.count(cell)}


def test_the_attack_recovers_counts_from_an_exact_error_and_gap(monkeypatch):
    """The rule before: counts are blurred, and what is computed from them is not."""
    kept = release._released

    def with_error(run, *more, **options):
        found = kept(run, *more, **options)
        for exact, model in zip(run.models, found.models, strict=True):
            for name in set(model.splits["test"]) - {"groups", "attributes"}:
                model.splits["test"][name] = exact.splits["test"][name]
        return found

    monkeypatch.setattr(release, "_released", with_error)
    monkeypatch.setattr("fairalm.report.models.coarse", lambda entry: {n: entry[n] for n in ("value", "low", "high")})
    world = hiding(RunWorld, 4)
    cell = next(cell for cell in world.small() if cell.get("split") == "test" and "fair" in cell)
    assert possible(world, cell, tries=1) == {world.count(cell)}
