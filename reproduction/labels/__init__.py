"""The paper's first table: which labels of CelebA a small net predicts unfairly, and what FairALM does about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

from fairalm.report.runs import FAIRALM_MODEL, PLAIN_MODEL
from reproduction.experiment import Block, Experiment, Job, Result, Results
from reproduction.labels.display import LEGEND, draw, main_blocks, markdown_blocks, settings_text
from reproduction.labels.job import NetJob, group_names, load_faces
from reproduction.labels.table import DEFAULT, TRIED, F, U, chosen, pairs_in_table, sentences, summarise, tested
from reproduction.options import Option, whole
from reproduction.page import Model, Page

RATES = (0.03, 0.1, 0.3)  # step sizes of the net; at 1 some nets diverge
ETAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
KINDS = {F: FAIRALM_MODEL, U: PLAIN_MODEL}  # of the models on the pages


@dataclass(frozen=True)
class Labels(Experiment):
    """Make the paper's table of unfair labels again: CelebA's 40 labels, protected Male and Young.

    A net of three layers is trained on faces of 28 × 28 pixels for five epochs, first without a constraint (U). Labels
    with a precision of at least 70 % and a DEO of at least 4 % on the validation part are trained again under FairALM
    (F) and under this library's default method. Step sizes are chosen on the validation part too, once for all labels.
    All figures are of the test part.

    Written are the tables, the paper's numbers beside ours, as table.md and table.csv (all labels); the figure
    labels.png; in pages/ a page for each label and protected attribute that is unfair; and in jobs/ the counts and the
    history of every net. It takes about ten minutes on two free cores. Stop it at any time: the same command continues
    where it was. Give the folder of CelebA in FAIRALM_DATA or with --data-dir.

    For example:
      python -m reproduction labels
      python -m reproduction labels --quick -o quick
      python -m reproduction labels --seed 1 -o another-seed
    """

    seed: Annotated[int, Option("The same seed gives the same result.", whole(0, 2**32 - 1))] = 0
    limit: Annotated[int | None, Option("The largest number of faces of each part.", whole(), quick=3000)] = None

    def _net(self, label: str, method: str, protected: str = "", **settings: Any) -> NetJob:
        return NetJob(label, method, protected, seed=self.seed, limit=self.limit, **settings)

    def prepare(self) -> None:
        load_faces(self.data_dir, self.limit)

    def jobs(self) -> Sequence[Job]:
        return [self._net(label, U, lr=lr, is_tested=False) for lr in RATES for _, label in TRIED]

    def collect(self, run: Callable[[Sequence[Job]], list[Result]]) -> list[Result]:
        """Choose the step size, then eta, then train all labels without a constraint, then the unfair ones with."""
        results = run(self.jobs())
        lr = chosen(results, "lr")
        steps = [(eta, pair) for eta in ETAS for pair in TRIED]
        results += run([self._net(label, F, name, lr=lr, eta=eta, is_tested=False) for eta, (name, label) in steps])
        eta = chosen(results, "eta")
        columns = load_faces(self.data_dir, self.limit).frame.columns
        plain = run([self._net(str(name), U, lr=lr) for name in columns if name not in ("file", "split")])
        pairs = [(method, step, pair) for method, step in ((F, eta), (DEFAULT, 0.0)) for pair in pairs_in_table(plain)]
        fair = [self._net(label, method, protected, lr=lr, eta=step) for method, step, (protected, label) in pairs]
        return results + plain + (run(fair) if fair else [])

    def frames(self, results: Results) -> dict[str, pd.DataFrame]:
        return {"table": summarise(results)}

    def facts(self, results: Results) -> dict[str, Any]:
        return {"lr": chosen(results, "lr"), "eta": chosen(results, "eta")}

    def text(self, results: Results) -> Iterator[Block]:
        table = summarise(results)
        for block in main_blocks(table, "{}"):
            yield block
            if not isinstance(block, str):
                yield ""
        yield from (LEGEND, settings_text(results), *sentences(table))

    def markdown(self, results: Results) -> Iterator[Block]:
        return markdown_blocks(results, summarise(results))

    def figures(self, results: Results) -> Iterator[tuple[str, Any]]:
        yield "labels.png", draw(summarise(results))

    def pages(self, results: Results) -> Iterator[Page]:
        """For each unfair label and protected attribute the unconstrained net and FairALM's."""
        table, faces = summarise(results), load_faces(self.data_dir, self.limit)
        unfair = table[(table["method"] == U) & table["is_screened"]]
        for protected, label in zip(unfair["protected"], unfair["label"], strict=True):
            data, models = faces.retarget(target=label, protected=protected), [*_models(results, protected, label)]
            name, groups = f"celeba, {label.replace('_', ' ')} by {protected}", group_names(data, protected)
            yield Page(f"pages/{protected}-{label}", name, data, models, groups, {"image_column": "file"})


def _models(results: Results, protected: str, label: str) -> Iterator[Model]:
    """The nets of a page."""
    for result in tested(results):
        config, history = result["config"], result["history"]
        if config["label"] != label or config["method"] not in KINDS or config["protected"] not in ("", protected):
            continue
        settings = {"net": "relu3", "eta": config["eta"] or None}
        settings |= {name: config[name] for name in ("lr", "epochs", "batch_size", "size")}
        if config["protected"] != protected and history:  # its gap may be another attribute's
            history = {"train_error": history["train_error"]}
        entry, kind = result["entries"].get(protected), KINDS[config["method"]]
        yield Model(config["method"], kind, entry, config["seed"], None, settings, history, "train")
