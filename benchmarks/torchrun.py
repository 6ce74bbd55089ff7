"""Throughput of one and two processes on a CPU, plain and with our loss, and what its all-reduce costs.

    OMP_NUM_THREADS=1 python benchmarks/torchrun.py [--launches 2] [--rounds 20] [--write docs/benchmarks/scale.md]

Every process has one thread, and as many rows per batch as the title says. One and two processes are launched in turn,
and within a launch the kinds of steps take turns. Two processes use gloo; a plain step of theirs is that of
DistributedDataParallel. "4 batches" is a step from four batches whose gradients accumulate under `no_sync`.
The all-reduce of the loss is timed where it is called, waiting for the slower process included, and again alone,
between two barriers.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from common import start, write_between
from steps import NETS, in_turn, ours, plain, quartiles, random_batch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from fairalm.files import write_json

ACCUMULATED = 4
KINDS = {  # how to make a step, and batches per step
    "plain": (plain, 1),
    "ConstrainedLoss": (ours(), 1),
    f"plain, {ACCUMULATED} batches": (plain, ACCUMULATED),
    f"ConstrainedLoss, {ACCUMULATED} batches": (ours(), ACCUMULATED),
}
PLANS = (
    (list(KINDS), 50, 1),
    (list(KINDS)[:2], 1, 5),
)  # per net: kinds, steps in a row, and what rounds are divided by


class TimedAllReduce:
    """Takes the place of `distributed.all_reduce`, which DDP does not use for gradients, and adds up time and bytes."""

    def __init__(self):
        self.call, self.seconds, self.bytes, self.calls = distributed.all_reduce, 0.0, 0, 0
        distributed.all_reduce = self

    def __call__(self, tensor, *args, **kwargs):
        """Reduce as before."""
        begin = time.perf_counter()
        result = self.call(tensor, *args, **kwargs)
        self.seconds += time.perf_counter() - begin
        self.bytes += tensor.numel() * tensor.element_size()
        self.calls += 1
        return result

    def figures(self, n_steps, per_step):
        """Per call and as a share of the time of a step; and per call between barriers."""
        if not self.calls:
            return None
        tensor, alone = torch.zeros(self.bytes // self.calls // 4), []
        for _ in range(200):
            distributed.barrier()
            begin = time.perf_counter()
            self.call(tensor)
            alone.append(time.perf_counter() - begin)
        return {
            "bytes": self.bytes / self.calls,
            "seconds": self.seconds / self.calls,
            "share": self.seconds / n_steps / per_step,
            "alone": float(np.median(alone)),
        }


def measure(make_net, shape, kinds, rounds, block):
    """Seconds per step of each kind in this process, and the cost of the loss's all-reduce."""
    world = distributed.get_world_size()
    batch, steps, n_parameters = random_batch(shape), {}, 0
    for name in kinds:
        make, batches = KINDS[name]
        torch.manual_seed(0)
        model = make_net()
        n_parameters = sum(p.numel() for p in model.parameters())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        steps[name] = make(DistributedDataParallel(model) if world > 1 else model, optimizer, *batch, batches)
    seconds = in_turn(steps, rounds, block, before=distributed.barrier)
    timed, n_steps = TimedAllReduce(), 3 * block
    begin = time.perf_counter()
    for _ in range(n_steps):
        steps["ConstrainedLoss"]()
    reduce = timed.figures(n_steps, (time.perf_counter() - begin) / n_steps)
    distributed.all_reduce = timed.call
    return {"seconds": {name: values.tolist() for name, values in seconds.items()}, "reduce": reduce, "n": n_parameters}


def work(path, rounds):
    """Run by torchrun: rank 0 writes what it measured."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    results = {
        title: measure(*net, kinds, max(2, rounds // share), block)
        for (title, net), (kinds, block, share) in zip(NETS.items(), PLANS, strict=True)
    }
    if distributed.get_rank() == 0:
        write_json(path, results)
    distributed.barrier()
    distributed.destroy_process_group()


def launch(world, rounds):
    """The results of one run of torchrun."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.json")
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}"]
        subprocess.run([*command, __file__, "--work", str(path), "--rounds", str(rounds)], check=True)
        return json.loads(path.read_text())


def markdown(launches):
    """Rows per second, and in a second table the all-reduce; `launches` has pairs of processes and results."""
    kinds = list(KINDS)
    lines = ["| net | processes | " + " | ".join(kinds) + " |", "|---|---:|" + "---:|" * len(kinds)]
    reduces = [
        "| net | bytes of gradients per step | bytes of the loss | time of its all-reduce | alone | share of a step |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for title, (_, shape) in NETS.items():
        for world in (1, 2):
            results = [result[title] for n, result in launches if n == world]
            cells = []
            for name, (_, batches) in KINDS.items():
                seconds = np.array([value for result in results for value in result["seconds"].get(name, [])])
                cells.append(quartiles(world * batches * shape[0] / seconds, 0) if len(seconds) else "")
            lines.append(f"| {title} | {world} | " + " | ".join(cells) + " |")
        figures = [result["reduce"] for result in results]
        mean = {key: np.median([figure[key] for figure in figures]) for key in figures[0]}
        reduces.append(
            f"| {title} | {4 * results[0]['n']:,} | {mean['bytes']:.0f} | {1e6 * mean['seconds']:.0f} µs |"
            f" {1e6 * mean['alone']:.0f} µs | {100 * mean['share']:.1f} % |"
        )
    return "\n".join(["Rows per second:", "", *lines, "", "The all-reduce of the loss, two processes:", "", *reduces])


def main():
    parser = start(__doc__, launches=2, rounds=20)
    parser.add_argument("--work", type=Path, help="used by the processes that this starts")
    parser.add_argument("--write", type=Path, help="a page with <!-- torchrun --> markers")
    options = parser.parse_args()
    if options.work:
        work(options.work, options.rounds)
        return
    launches = []
    for _ in range(options.launches):
        for world in (1, 2):
            launches.append((world, launch(world, options.rounds)))
            print(f"{len(launches)} of {2 * options.launches} launches", flush=True)
    text = markdown(launches)
    print(text)
    if options.write:
        write_between(options.write, "torchrun", text)


if __name__ == "__main__":
    main()
