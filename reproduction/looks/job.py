"""A job: the nets of a set and seed, and where they look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairalm.constraints import EqualizedOdds
from fairalm.datasets.images import ImageDataset
from fairalm.measures import Measure, group_rates, measure_of
from fairalm.measures.means import means_of
from fairalm.methods import FairALM, Method, Reweight, Unconstrained
from fairalm.selection import select_nvp
from fairalm.vision.heat_map_scores import focus, leak
from reproduction.experiment import Job
from reproduction.looks.sets import SETS, Plan, group_names, read, swap
from reproduction.page import net_entry

ETAS = (0.1, 0.3, 1.0)  # FairALM's; NVP chooses on the validation images
KEEP = 0.95  # of the best accuracy, where NVP has 0.9: where a bad net looks says little
ATTRIBUTE, UNCONSTRAINED, FAIR = "attribute", "unconstrained", "fairalm"
OUTSIDE = ["peak_outside", "mostly_outside"]
ON_SHEET = 6  # images
OTHER = 1000  # added to the seed of a second unconstrained net, on scenes


@dataclass(frozen=True)
class LooksJob(Job):
    """Train the nets of a set (a key of ``SETS``) with a seed, and measure where they look."""

    set: str
    seed: int
    is_small: bool = False  # fewer images

    @property
    def plan(self) -> Plan:
        return SETS[self.set].small() if self.is_small else SETS[self.set]

    @property
    def name(self) -> str:
        return f"{self.set}-{self.seed}"

    @property
    def config(self) -> dict[str, Any]:
        plan = {name: value for name, value in vars(self.plan).items() if name not in ("title", "mask")}
        plan |= {"constraint": self.plan.constraint.name, "tol": self.plan.constraint.tol}
        return {"set": self.set, "seed": self.seed, "etas": ETAS, "keep": KEEP, "other": OTHER, **plan}

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        """Train a net for the attribute, an unconstrained one and FairALM's; choose eta; measure on the test images.

        Returns
        -------
        dict
            The ``trials`` on the validation images and the ``eta`` chosen; for each of the ``nets`` error, gap, leak
            and focus, all with intervals over the test images, and an ``entry`` for the page; how often ``both`` nets
            look outside; for scenes, leak and focus of a second unconstrained net (``again``). The first seed also has
            a ``sheet``: test images by row, and their maps, from 0 to 255.
        """
        from reproduction.looks.nets import heat_maps, logits, make_encoder, train  # torch is slow to load

        plan, parts = self.plan, read(self.set, self.plan, self.seed, data_dir)
        encode, masks = make_encoder(plan, parts.fit), np.asarray(parts.test.masks)
        x, unseen, tested = (encode(part.pixels) for part in parts[:3])
        methods: dict[str, Method] = {UNCONSTRAINED: Unconstrained(), **{str(eta): FairALM(eta=eta) for eta in ETAS}}
        tried = {
            name: train(x, parts.fit, plan, plan.constraint, method, self.seed) for name, method in methods.items()
        }
        trials = {name: _rates(parts.valid, logits(net, unseen), plan) for name, net in tried.items()}
        errors, gaps = (np.array([trials[str(eta)][name].value for eta in ETAS], float) for name in ("error", "gap"))
        eta = ETAS[select_nvp(errors, gaps, keep=KEEP)]
        # weights bring label and attribute into balance, so that the net for one does not learn the other
        balanced = encode(parts.attribute.pixels) if plan.is_scenes else x
        attribute = train(balanced, parts.attribute, plan, EqualizedOdds(), Reweight(), self.seed)
        nets = {ATTRIBUTE: attribute, UNCONSTRAINED: tried[UNCONSTRAINED], FAIR: tried[str(eta)]}
        maps = {name: heat_maps(net, tested, plan.size) for name, net in nets.items()}
        focuses = {name: focus(map_, masks) for name, map_ in maps.items()}
        results: dict[str, Any] = {}
        for name, net in nets.items():
            test, logit = swap(parts.test) if name == ATTRIBUTE else parts.test, logits(net, tested)
            results[name] = {**_json(_rates(test, logit, plan)), "focus": _json(means_of(focuses[name])), "leak": None}
            if name != ATTRIBUTE:
                results[name]["leak"] = _json(means_of(leak(maps[name], maps[ATTRIBUTE])))
                results[name]["entry"] = net_entry(test.y, logit, group_names(self.set, test.groups))
        both = _json(means_of(focuses[FAIR][OUTSIDE] & focuses[UNCONSTRAINED][OUTSIDE]))
        result = {"eta": eta, "trials": {name: _json(rates) for name, rates in trials.items()}}
        result |= {"nets": results, "both": both}
        if plan.is_scenes:
            net = train(x, parts.fit, plan, plan.constraint, Unconstrained(), self.seed + OTHER)
            map_ = heat_maps(net, tested, plan.size)
            tables = {"leak": leak(map_, maps[ATTRIBUTE]), "focus": focus(map_, masks)}
            result["again"] = {kind: _json(means_of(table)) for kind, table in tables.items()}
        if self.seed == 0:
            rows = np.sort(np.random.default_rng(0).permutation(len(parts.test))[:ON_SHEET])
            shown = {name: _to_bytes(map_[rows]).tolist() for name, map_ in maps.items()}
            result["sheet"] = {"rows": rows.tolist(), "maps": shown}
        return result


def _rates(data: ImageDataset, logit: Any, plan: Plan) -> dict[str, Measure]:
    rates = group_rates(data.y, (logit > 0).astype(int), sensitive_features=np.asarray(data.groups))
    return {"error": measure_of("error", rates), "gap": measure_of(plan.constraint.measure, rates)}


def _json(measures: Mapping[str, Measure]) -> dict[str, Any]:
    return {name: measure.to_dict() for name, measure in measures.items()}


def _to_bytes(maps: Any) -> Any:
    """Each map from 0, its lowest place, to 255, its highest."""
    low, high = maps.min(axis=(1, 2), keepdims=True), maps.max(axis=(1, 2), keepdims=True)
    return np.rint(255 * (maps - low) / np.where(high > low, high - low, 1)).astype(int)
