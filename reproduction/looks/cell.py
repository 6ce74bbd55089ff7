"""One cell: the nets of one set and seed, where they look, and how much of it is where it should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairalm.constraints import EqualizedOdds
from fairalm.datasets.images import ImageDataset
from fairalm.measures import Measure, group_rates, measure_of
from fairalm.methods import FairALM, Method, Reweight, Unconstrained
from fairalm.selection import select_nvp
from fairalm.vision.leak import average, focus, leak
from reproduction.looks.sets import SETS, Plan, group_names, read
from reproduction.page import net_entry

ETAS = (0.1, 0.3, 1.0)  # of FairALM; NVP chooses by the validation pictures
KEEP = 0.95  # of the best accuracy, which NVP lets go to 0.9: where a bad net looks says little
ATTRIBUTE, PLAIN, FAIR = "attribute", "unconstrained", "fairalm"
OUTSIDE = ["peak_outside", "mostly_outside"]
ON_SHEET = 6  # pictures
N_SEEDS, N_SEEDS_OF_SCENES = 10, 30  # scenes are cheap, and each seed has scenes of its own
OTHER = 1000  # added to the seed of a second unconstrained net, on scenes


@dataclass(frozen=True)
class Cell:
    """What to run.

    Parameters
    ----------
    set : str
        A key of ``SETS``.
    seed : int
        Of the pictures, the weights and the order.
    is_small : bool
        Whether to take fewer pictures.
    """

    set: str
    seed: int
    is_small: bool = False

    @property
    def plan(self) -> Plan:
        """How the nets are made."""
        plan = SETS[self.set]
        return plan.small() if self.is_small else plan

    @property
    def name(self) -> str:
        """For the bar, and for the file it is kept in."""
        return f"{self.set}-{self.seed}"

    @property
    def config(self) -> dict[str, Any]:
        """All that its figures depend on, but for the code."""
        found = {"set": self.set, "seed": self.seed, "etas": list(ETAS), "keep": KEEP, **self.plan.config}
        return found if self.plan.is_pretrained else found | {"other": OTHER}


def all_cells(sets: Sequence[str], seeds: int | None = None, *, is_small: bool = False) -> list[Cell]:
    """Every set with every seed, those first that are cheap; without `seeds`, more of the scenes than of the others.

    >>> [cell.name for cell in all_cells(["xray", "faces", "scenes"], 2)]
    ['scenes-0', 'scenes-1', 'xray-0', 'faces-0', 'xray-1', 'faces-1']
    """
    cells = [Cell(name, seed, is_small) for name in sets for seed in range(seeds or _n_seeds(name))]
    return sorted(cells, key=lambda cell: (cell.plan.is_pretrained, cell.seed))


def _n_seeds(name: str) -> int:
    return N_SEEDS if SETS[name].is_pretrained else N_SEEDS_OF_SCENES


def run_cell(cell: Cell, data_dir: str | None = None) -> dict[str, Any]:
    """Train the net of the attribute, the unconstrained one and FairALM's; choose eta; measure on the test pictures.

    Returns
    -------
    dict
        `config`; the `trials` on the validation pictures, of no rule and of each eta, and the `eta` chosen; for each
        net under `nets` the error and gap on the test pictures and, averaged over them, leak and focus, all with
        intervals over the pictures, and of the nets of the label the `entry` of them for the page; under `both`, how
        often both nets look outside; of scenes, `again`: leak and focus of a second unconstrained net, from other first
        weights. The first seed has a `sheet` too: rows of the test pictures, and their maps, from 0 to 255.
    """
    from reproduction.looks.nets import logits, look, make_eye, train  # torch is slow to load

    plan, seed = cell.plan, cell.seed
    parts = read(cell.set, plan, seed, data_dir)
    eye = make_eye(plan, parts.fit)
    x, unseen, tested = (eye(part.pixels) for part in (parts.fit, parts.valid, parts.test))
    rules: dict[str | float, Method] = {PLAIN: Unconstrained(), **{eta: FairALM(eta=eta) for eta in ETAS}}
    tried = {rule: train(x, parts.fit, plan, plan.constraint, method, seed) for rule, method in rules.items()}
    trials = {rule: _rates(parts.valid, logits(net, unseen), plan) for rule, net in tried.items()}
    errors, gaps = (np.array([trials[eta][name].value for eta in ETAS], dtype=float) for name in ("error", "gap"))
    chosen = ETAS[select_nvp(errors, gaps, keep=KEEP)]
    balanced = x if parts.attribute.pixels is parts.fit.pixels else eye(parts.attribute.pixels)
    nets = {
        # weights bring label and attribute into balance, so that the net of one does not learn the other
        ATTRIBUTE: train(balanced, parts.attribute, plan, EqualizedOdds(), Reweight(), seed),
        PLAIN: tried[PLAIN],
        FAIR: tried[chosen],
    }
    groups = group_names(cell.set, parts.test.groups)
    turned = parts.test.retarget(target=parts.attribute.target, protected=parts.attribute.protected)
    found = {name: look(net, tested, plan.size) for name, net in nets.items()}
    said = {name: logits(net, tested) for name, net in nets.items()}
    leaks = {name: leak(found[name], found[ATTRIBUTE]) for name in (PLAIN, FAIR)}
    focuses = {name: focus(map_, parts.test.masks) for name, map_ in found.items()}  # type: ignore[arg-type]
    result: dict[str, Any] = {
        "config": cell.config,
        "eta": chosen,
        "trials": {str(rule): _to_dict(trial) for rule, trial in trials.items()},
        "nets": {
            name: {
                **_to_dict(_rates(turned if name == ATTRIBUTE else parts.test, said[name], plan)),
                "leak": _averages(leaks[name]) if name in leaks else None,
                "focus": _averages(focuses[name]),
                **({} if name == ATTRIBUTE else {"entry": net_entry(parts.test.y, said[name], groups)}),
            }
            for name in nets
        },
        "both": _averages(focuses[FAIR][OUTSIDE] & focuses[PLAIN][OUTSIDE]),
    }
    if not plan.is_pretrained:
        second = look(train(x, parts.fit, plan, plan.constraint, Unconstrained(), seed + OTHER), tested, plan.size)
        result["again"] = {
            "leak": _averages(leak(second, found[ATTRIBUTE])),
            "focus": _averages(focus(second, parts.test.masks)),  # type: ignore[arg-type]
        }
    if seed == 0:
        rows = np.sort(np.random.default_rng(seed).permutation(len(parts.test))[:ON_SHEET])
        result["sheet"] = {
            "rows": rows.tolist(),
            "maps": {name: _to_bytes(map_[rows]).tolist() for name, map_ in found.items()},
        }
    return result


def _rates(data: ImageDataset, logit: Any, plan: Plan) -> dict[str, Measure]:
    rates = group_rates(data.y, (logit > 0).astype(int), sensitive_features=np.asarray(data.groups))
    return {"error": measure_of("error", rates), "gap": measure_of(plan.constraint.measure, rates)}


def _averages(table: pd.DataFrame) -> dict[str, Any]:
    return _to_dict(average(table.drop(columns="constant", errors="ignore"))) | (
        {"constant": int(table["constant"].sum())} if "constant" in table else {}
    )


def _to_dict(measures: Mapping[str, Measure]) -> dict[str, Any]:
    return {name: measure.to_dict() for name, measure in measures.items()}


def _to_bytes(maps: Any) -> Any:
    """Each map from 0, its lowest place, to 255, its highest."""
    low, high = maps.min(axis=(1, 2), keepdims=True), maps.max(axis=(1, 2), keepdims=True)
    return np.rint(255 * (maps - low) / np.where(high > low, high - low, 1)).astype(int)
