"""The update against the formula typed out over all parameters; who the adversary sees; two ranks; COMPAS."""

import copy
import sys

import pytest

torch = pytest.importorskip("torch")
from torch import distributed, nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import fairalm  # noqa: E402
from fairalm import (  # noqa: E402
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    InputError,
    PredictiveEquality,
    Unconstrained,
)
from fairalm.datasets import load_compas, preprocess, split  # noqa: E402
from fairalm.measures import ddp, error  # noqa: E402
from fairalm.nn.adversarial import Adversarial  # noqa: E402
from fairalm.nn.loss import ConstrainedLoss  # noqa: E402
from fairalm.nn.trainer import Trainer  # noqa: E402

ALPHA = 0.7
KNOWN = [DemographicParity, EqualOpportunity, PredictiveEquality, EqualizedOdds]


def batch(seed, n_groups=2, n=64):
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 4, generator=rng)
    group = torch.randint(n_groups, (n,), generator=rng)
    y = (torch.rand(n, generator=rng) < 0.3 + 0.4 * (group == 1)).float()
    x[:, 1] += y
    x[:, 2] += group
    return x, y, group


def make_net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def trained(constraint, n_groups=2, steps=20):
    """A net and an adversary that has learnt something, so that its gradient is not 0."""
    net, adversary = make_net(), Adversarial(constraint, n_groups=n_groups, alpha=ALPHA)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for seed in range(steps):
        take(net, adversary, *batch(seed, n_groups))
        optimizer.step()
        optimizer.zero_grad()
    return net, adversary


def take(net, adversary, x, y, group, parameters=None):
    logits = net(x)[:, 0]
    loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
    adversary.backward(loss, logits, y, group, net.parameters() if parameters is None else parameters)


def flat(tensors):
    return torch.cat([tensor.flatten() for tensor in tensors])


def both_gradients(constraint, net, adversary, x, y, group):
    """G and h over all parameters as one vector each, the adversary written out."""
    logits = net(x)[:, 0]
    g = flat(
        torch.autograd.grad(
            nn.functional.binary_cross_entropy_with_logits(logits, y), list(net.parameters()), retain_graph=True
        )
    )
    s = torch.sigmoid((1 + adversary.adversary.c.abs()) * logits)
    weight, bias = adversary.adversary.weight, adversary.adversary.bias
    if isinstance(constraint, EqualizedOdds):
        scores = s[:, None] * weight[:, 0] + (s * y)[:, None] * weight[:, 1] + (s * (1 - y))[:, None] * weight[:, 2]
    else:
        scores = s[:, None] * weight[:, 0]
    log_p = torch.log_softmax(scores + bias, dim=1)
    who = {EqualOpportunity: y == 1, PredictiveEquality: y == 0}.get(type(constraint), y == y)
    loss = -sum(log_p[i, group[i]] for i in range(len(y)) if who[i]) / who.sum()
    return g, flat(torch.autograd.grad(loss, list(net.parameters()))), loss


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("kind", KNOWN, ids=lambda kind: kind.name)
def test_update_is_the_formula(kind, n_groups):
    constraint = kind()
    net, adversary = trained(constraint, n_groups)
    data = batch(99, n_groups)
    g, h, loss = both_gradients(constraint, net, adversary, *data)
    expected = g - (g @ h) / (h @ h) * h - ALPHA * h
    take(net, adversary, *data)
    update = flat(parameter.grad for parameter in net.parameters())
    torch.testing.assert_close(update, expected, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(adversary.last, loss.detach())
    assert abs((g @ h) / (h @ h)) > 0.01, "the projection must matter for this to mean anything"


def test_projection_is_over_all_parameters_not_tensor_by_tensor():
    constraint = DemographicParity()
    net, adversary = trained(constraint)
    adversary.alpha = 0.0
    data = batch(99)
    g, h, _ = both_gradients(constraint, net, adversary, *data)
    take(net, adversary, *data)
    update = flat(parameter.grad for parameter in net.parameters())
    assert float(update @ h / (update.norm() * h.norm())) == pytest.approx(0, abs=1e-5)
    sizes = [parameter.numel() for parameter in net.parameters()]
    by_tensor = torch.cat([a - (a @ b) / (b @ b) * b for a, b in zip(g.split(sizes), h.split(sizes), strict=True)])
    assert (update - by_tensor).norm() > 0.1 * update.norm()


@pytest.mark.parametrize(("kind", "label"), [(EqualOpportunity, 0.0), (PredictiveEquality, 1.0)])
def test_a_batch_without_the_event_gives_the_plain_gradient(kind, label):
    net, adversary = trained(kind())
    before = copy.deepcopy(adversary.state_dict())
    x, _, group = batch(99)
    y = torch.full((len(x),), label)
    take(net, adversary, x, y, group)
    loss = nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y)
    plain = flat(torch.autograd.grad(loss, list(net.parameters())))
    torch.testing.assert_close(flat(parameter.grad for parameter in net.parameters()), plain)
    for name, value in adversary.adversary.state_dict().items():
        assert torch.equal(value, before[f"adversary.{name}"])


def test_an_adversary_that_knows_nothing_changes_nothing():
    net, adversary = make_net(), Adversarial(EqualizedOdds(), n_groups=2)
    x, y, group = batch(0)
    take(net, adversary, x, y, group)
    loss = nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y)
    plain = flat(torch.autograd.grad(loss, list(net.parameters())))
    torch.testing.assert_close(flat(parameter.grad for parameter in net.parameters()), plain)
    assert abs(adversary.adversary.weight).max() > 0, "and it has learnt from the batch"


def test_one_and_two_columns_and_another_target_agree():
    results = []
    for columns, target in ((1, 1), (2, 1), (2, 0)):
        score = torch.linspace(-1, 1, 64, requires_grad=True)
        adversary = Adversarial(EqualOpportunity(target=target), n_groups=2, lr=0.5)
        _, y, group = batch(1)
        for _ in range(3):
            logits = score if columns == 1 else torch.stack([torch.zeros_like(score), score], dim=1)
            logits, label = (logits, y) if target == 1 else (logits.flip(1), 1 - y)
            score.grad = None
            adversary.backward((score**2).mean(), logits, label, group, [score])
        results.append(score.grad)
    for other in results[1:]:
        torch.testing.assert_close(other, results[0])


def test_gradients_are_added_like_those_of_backward():
    net, adversary = trained(DemographicParity())
    other = copy.deepcopy(adversary)
    data = batch(99)
    take(net, adversary, *data)
    once = flat(parameter.grad for parameter in net.parameters())
    take(net, other, *data)
    torch.testing.assert_close(flat(parameter.grad for parameter in net.parameters()), 2 * once)


def test_state_survives(tmp_path):
    net, adversary = trained(EqualizedOdds())
    torch.save(adversary.state_dict(), tmp_path / "state.pt")
    again = Adversarial(EqualizedOdds(), n_groups=2, alpha=ALPHA)
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    nets = [net, copy.deepcopy(net)]
    for seed in range(5):
        for one, its in zip(nets, (adversary, again), strict=True):
            one.zero_grad()
            take(one, its, *batch(seed))
    for ours, theirs in zip(adversary.parameters(), again.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    for ours, theirs in zip(*(one.parameters() for one in nets), strict=True):
        assert torch.equal(ours.grad, theirs.grad)


def test_as_part_of_the_net_it_is_not_stepped_twice():
    """Its parameters are among the net's then; the optimiser of the net must find no gradient on them."""
    net = make_net()
    net.adversary = adversary = Adversarial(DemographicParity(), n_groups=2)
    x, y, group = batch(0)
    logits = net[:3](x)[:, 0]
    loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
    adversary.backward(loss, logits, y, group, net.parameters())
    assert all(parameter.grad is None for parameter in adversary.parameters())
    assert net[0].weight.grad is not None


def test_an_adversary_of_ones_own():
    own = nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 3))
    before = copy.deepcopy(own.state_dict())
    net, adversary = make_net(), Adversarial(EqualizedOdds(), n_groups=3, adversary=own)
    take(net, adversary, *batch(0, 3))
    assert not torch.equal(own[0].weight, before["0.weight"])
    with pytest.raises(InputError, match=r"returned \(64, 2\) for 64 rows"):
        take(net, Adversarial(EqualizedOdds(), n_groups=3, adversary=nn.Linear(2, 2)), *batch(0, 3))


def ranks_train(rank=0, world=1):
    """Two ranks with half of each batch; the second never has a row of the event in batch 3."""
    net, adversary = make_net(), Adversarial(EqualOpportunity(), n_groups=2, alpha=ALPHA)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
    for seed in range(12):
        x, y, group = batch(seed)
        if seed == 3:
            y[32:] = 0
        mine = slice(rank * 64 // world, (rank + 1) * 64 // world)
        optimizer.zero_grad()
        take(net, adversary, x[mine], y[mine], group[mine])
        optimizer.step()
    return flat([*net.parameters(), *adversary.parameters(), adversary.last]).detach()


def ranks_fit(rank=0, world=1):
    """The same in a Trainer: two batches per step, the net wrapped where there are two ranks."""
    net, adversary = make_net(), Adversarial(EqualOpportunity(), n_groups=2, alpha=ALPHA)
    mine = slice(rank * 64 // world, (rank + 1) * 64 // world)
    batches = [tuple(part[mine] for part in batch(seed)) for seed in range(12)]
    Trainer(
        DistributedDataParallel(net) if world > 1 else net,
        torch.optim.SGD(net.parameters(), lr=0.2),
        plain_loss(),
        epochs=2,
        accumulate=2,
        backward=adversary,
    ).fit(batches)
    return flat([*net.parameters(), *adversary.parameters(), adversary.last]).detach()


def plain_loss():
    return ConstrainedLoss(nn.BCEWithLogitsLoss(reduction="none"), EqualOpportunity(), Unconstrained(), n_groups=2)


def test_in_a_trainer_it_is_the_loop_typed_out():
    net, adversary = make_net(), Adversarial(EqualOpportunity(), n_groups=2, alpha=ALPHA)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
    for _ in range(2):
        for pair in range(0, 12, 2):
            optimizer.zero_grad()
            for seed in (pair, pair + 1):
                x, y, group = batch(seed)
                logits = net(x)[:, 0]
                loss = nn.functional.binary_cross_entropy_with_logits(logits, y) / 2
                adversary.backward(loss, logits, y, group, net.parameters())
            optimizer.step()
    expected = flat([*net.parameters(), *adversary.parameters(), adversary.last]).detach()
    torch.testing.assert_close(ranks_fit(), expected, rtol=0, atol=1e-6)


def test_a_trainer_refuses_an_attached_criterion_and_what_is_no_backward():
    net, criterion = make_net(), plain_loss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
    with pytest.raises(InputError, match="`backward` must be of type Module; got str"):
        Trainer(net, optimizer, criterion, epochs=1, backward="adversary")
    criterion.attach(optimizer)
    trainer = Trainer(net, optimizer, criterion, epochs=1, backward=Adversarial(EqualOpportunity(), n_groups=2))
    with pytest.raises(InputError, match="attached to the optimizer"):
        trainer.fit([batch(0)])


def test_two_ranks_follow_one(tmp_path, torchrun):
    done = torchrun(__file__, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    torch.testing.assert_close(first, torch.stack([ranks_train(), ranks_fit()]), rtol=0, atol=1e-5)


def test_it_lowers_the_gap_on_compas():
    """Three splits: the plain net selects the groups 20 points apart and more; half of that must go."""
    data = load_compas()
    frame = data.features_frame(with_protected=True)
    groups = torch.tensor((data.groups == "Caucasian").to_numpy(dtype=int))
    labels = torch.tensor(data.y, dtype=torch.float32)

    def run(seed, adversary):
        train, test = split(data.y, data.groups, random_state=seed)
        features = torch.tensor(preprocess(frame).fit(frame.iloc[train]).transform(frame), dtype=torch.float32)
        torch.manual_seed(seed)
        net = nn.Sequential(nn.Linear(features.shape[1], 32), nn.ReLU(), nn.Linear(32, 1))
        optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
        for _ in range(10):
            for rows in torch.tensor(train)[torch.randperm(len(train))].split(256):
                optimizer.zero_grad()
                logits = net(features[rows])[:, 0]
                loss = nn.functional.binary_cross_entropy_with_logits(logits, labels[rows])
                if adversary is None:
                    loss.backward()
                else:
                    adversary.backward(loss, logits, labels[rows], groups[rows], net.parameters())
                optimizer.step()
        predicted = (net(features[test])[:, 0] > 0).int().numpy()
        gap = ddp(data.y[test], predicted, sensitive_features=data.groups.iloc[test])
        return gap.value, error(data.y[test], predicted).value

    for seed in range(3):
        plain, fair = run(seed, None), run(seed, Adversarial(DemographicParity(), n_groups=2))
        assert plain[0] > 0.2
        assert fair[0] < plain[0] / 2
        assert fair[1] < plain[1] + 0.05


class TestBadInput:
    def test_settings(self):
        for constraint in (fairalm.ErrorParity(), fairalm.PredictiveParity(), "dp"):
            with pytest.raises(InputError, match="Adversarial supports DemographicParity, EqualOpportunity"):
                Adversarial(constraint, n_groups=2)
        for settings, match in [
            ({"n_groups": 1}, "n_groups"),
            ({"alpha": -1.0}, "alpha"),
            ({"alpha": float("nan")}, "alpha"),
            ({"lr": 0.0}, "lr"),
            ({"adversary": nn.ReLU()}, r"must be a network with parameters to train; got ReLU\(\)"),
            ({"adversary": 3}, "must be a network with parameters to train; got 3"),
        ]:
            with pytest.raises(InputError, match=match):
                Adversarial(DemographicParity(), **{"n_groups": 2, **settings})

    def test_batches(self):
        w = torch.ones(4, requires_grad=True)
        good = {
            "loss": w.sum(),
            "logits": w * 1.0,
            "y": torch.tensor([0.0, 1.0, 0.0, 1.0]),
            "group": torch.tensor([0, 0, 1, 1]),
            "parameters": [w],
        }
        adversary = Adversarial(DemographicParity(), n_groups=2)
        for bad, match in [
            ({"logits": torch.zeros(0)}, "shape"),
            ({"y": torch.zeros(3)}, "one label and one group per row"),
            ({"group": torch.tensor([0, 1])}, "one label and one group per row"),
            ({"group": torch.tensor([0.0, 1.0, 0.0, 1.0])}, "must hold integers"),
            ({"group": torch.tensor([0, 1, 2, 0])}, r"group must lie in 0\.\.1"),
            ({"loss": w * 1.0}, "loss must be one number"),
            ({"loss": w.sum().detach()}, "loss carries no gradient"),
            ({"logits": w.detach()}, "logits carries no gradient"),
            ({"logits": w * float("nan")}, "logits is not finite"),
            ({"parameters": []}, "`parameters` is empty"),
            ({"parameters": [nn.Parameter(torch.ones(2))]}, "None of `parameters` takes part"),
        ]:
            with pytest.raises(InputError, match=match):
                adversary.backward(**{**good, **bad})
        with pytest.raises(InputError, match="The target is class 2"):
            Adversarial(DemographicParity(target=2), n_groups=2).backward(**good)
        assert w.grad is None


if __name__ == "__main__":
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    both = [train(rank, distributed.get_world_size()) for train in (ranks_train, ranks_fit)]
    torch.save(torch.stack(both), f"{sys.argv[1]}/{rank}.pt")
    distributed.barrier()
    distributed.destroy_process_group()
