"""CelebA without training a net: frozen ImageNet features, a fair last layer.

    python benchmarks/celeba_last_layer.py --choose     # compare the settings below on the validation part
    python benchmarks/celeba_last_layer.py              # the trade-off, on the validation part
    python benchmarks/celeba_last_layer.py --test       # the same on the test part, and the figure: once, at the end

Label "Attractive", group "Male", equal opportunity (the paper's Table 2). Needs the extra `vision`. The net runs once
over each part, which takes some minutes on one core. The features are kept in --cache, and an interrupted run continues
where it stopped.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from common import start
from torch import nn

from fairalm import EqualOpportunity, Unconstrained
from fairalm.datasets.images import load_celeba
from fairalm.measures import deo, error
from fairalm.nn import Features, compute_features, refit_last_layer
from fairalm.vision import nets
from fairalm.vision.image_batches import Scale, image_batches
from fairalm.vision.image_sets import group_labels

SIZE, BATCH = 96, 64
WHOLE, GRID = "efficientnet-lite0", "efficientnet-lite0-grid"  # as ImageNet's own head sees it; middle blocks on a grid
WIDTHS = {4: 40, 7: 80, 10: 112, 14: 192}  # the blocks that --choose compares, with their channels
TOLS = (0.20, 0.15, 0.10, 0.06, 0.03, 0.01)

# chosen by --choose, as were the library's blocks of the grid, 7 and 10
L2 = 0.1
N_FOLDS = 3

PAPER = (0.245, 0.104)  # error and DEO of the paper's ResNet-18 on the full set, its Table 2


def features(name, part, options, cache, mirror=False):
    """The inputs of the last layer of a net, for one part of CelebA."""
    data = load_celeba(options.data_dir, size=SIZE, progress=True).part(part)
    if mirror:
        data = replace(data, pixels=data.pixels[:, :, ::-1])
    net = nets.make_net(name, in_channels=3, size=SIZE, weights="imagenet")
    batches = image_batches(data, group_labels(data), Scale.for_net(name, "imagenet", data), BATCH)
    return compute_features(net, batches, cache=options.cache / cache / part, progress=True)


def both_ways(part, options):
    """The features of the whole net, averaged over each face and its mirror image, as the grid's are."""
    one, other = (features(WHOLE, part, options, f"whole-{mirror}", mirror) for mirror in (False, True))
    return Features((one.x + other.x) / 2, one.y, one.group)


def columns(every, blocks):
    """The features of some blocks, cut out of those of all."""
    ends = np.cumsum([width * nets.GRID**2 for width in WIDTHS.values()])
    spans = dict(zip(WIDTHS, zip([0, *ends[:-1]], ends, strict=True), strict=True))
    return Features(torch.cat([every.x[:, slice(*spans[block])] for block in blocks], 1), every.y, every.group)


def choose(options):
    """Validation error of heads whose gap was closed on the validation part, for every setting."""
    nets.BLOCKS = WIDTHS
    every = [features(GRID, part, options, "blocks") for part in ("train", "valid")]
    settings = {"16 (last layer)": [both_ways(part, options) for part in ("train", "valid")]}
    for blocks in ((7, 10), (4, 7, 10), (4, 7, 10, 14)):
        settings[", ".join(map(str, blocks))] = [columns(part, blocks) for part in every]
    print("blocks, l2, validation error and DEO: plain head, tol 0.05, tol 0.01", flush=True)
    for blocks, parts in settings.items():
        head = nn.Linear(parts[0].x.shape[1], 1)
        for l2 in (0.03, 0.1, 0.3):
            fits = [
                refit_last_layer(head, *parts, constraint=EqualOpportunity(tol=tol), l2=l2, max_iter=15)
                for tol in (0.05, 0.01)
            ]
            plain = fits[0].game
            figures = [(plain.errors[0], abs(plain.gaps[0, 0])), *((fit.error, fit.gap) for fit in fits)]
            shown = "   ".join(f"{100 * err:5.1f} {100 * gap:6.1f}" for err, gap in figures)
            print(f"{blocks:15s} {l2:<5g} {shown}", flush=True)


def curve(options):
    """The plain head and the fair ones, measured on the part asked for: one row each."""
    net = nets.make_net(GRID, in_channels=3, size=SIZE, weights="imagenet")
    part = "test" if options.test else "valid"
    train, judged = (features(GRID, name, options, "grid") for name in ("train", part))
    settings = [("plain", {"method": Unconstrained()})]
    settings += [(f"tol {tol:.2f}", {"constraint": EqualOpportunity(tol=tol), "n_folds": N_FOLDS}) for tol in TOLS]
    print(f"| model | {part} error | {part} DEO | signed | rounds | certificate | seconds |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    points = []
    for name, setting in settings:
        begun = time.perf_counter()
        fair = refit_last_layer(net, train, l2=L2, **setting)
        seconds = time.perf_counter() - begun
        with torch.inference_mode():
            predicted = (fair.model.head(judged.x)[:, 0] > 0).int().numpy()
        err, gap = error(judged.y, predicted), deo(judged.y, predicted, sensitive_features=judged.group)
        certificate = "" if name == "plain" else f"{100 * fair.optimality_gap:.1f}"
        row = [name, err, gap, f"{100 * gap.signed:+.1f}", len(fair.history), certificate, f"{seconds:.0f}"]
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
        points.append((err, gap))
    return points


def draw(points, path):
    """The trade-off with its intervals."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    def ends(measures):
        values = np.array([[measure.value, measure.low, measure.high] for measure in measures]).T * 100
        return values[0], np.stack([values[0] - values[1], values[2] - values[0]])

    (x, x_ends), (y, y_ends) = ends([gap for _, gap in points]), ends([err for err, _ in points])
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    bars = {"fmt": "o", "capsize": 2, "elinewidth": 1, "alpha": 0.9}
    axes.errorbar(x[:1], y[:1], y_ends[:, :1], x_ends[:, :1], color="tab:gray", label="plain head", **bars)
    axes.errorbar(x[1:], y[1:], y_ends[:, 1:], x_ends[:, 1:], color="tab:blue", label="fair heads", **bars)
    order = np.argsort(x)
    axes.plot(x[order], y[order], color="tab:blue", alpha=0.3, zorder=0)
    axes.plot(
        100 * PAPER[1], 100 * PAPER[0], "x", color="tab:red", markersize=9, label="the paper: ResNet-18, full set"
    )
    axes.set(xlabel="test DEO, points", ylabel="test error, %", xlim=(-1, None))
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def main():
    parser = start(__doc__)
    folder = os.environ.get("FAIRALM_DATA")
    parser.add_argument(
        "--data-dir", type=Path, default=folder, required=not folder, help="folder that contains celeba/"
    )
    parser.add_argument("--cache", type=Path, default=Path("celeba-features"), help="folder for the features")
    parser.add_argument("--choose", action="store_true", help="compare settings on the validation part")
    parser.add_argument("--test", action="store_true", help="measure on the test part, and draw the figure")
    parser.add_argument(
        "--figure", type=Path, default=Path("celeba-last-layer.png"), help="file for the figure of --test"
    )
    options = parser.parse_args()
    if options.choose:
        choose(options)
        return
    points = curve(options)
    if options.test:
        draw(points, options.figure)


if __name__ == "__main__":
    main()
