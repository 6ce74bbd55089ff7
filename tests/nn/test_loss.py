"""Each rule's gradient against autograd of the paper's formula, typed out here; Algorithm 2 by hand; the state."""

import copy
import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import fairalm  # noqa: E402
from fairalm import InputError, NoStepWarning  # noqa: E402
from fairalm.cells import Event  # noqa: E402
from fairalm.constraints import CONSTRAINTS  # noqa: E402
from fairalm.methods import METHODS  # noqa: E402
from fairalm.nn import ConstrainedLoss  # noqa: E402

TOL, ETA = 0.02, 0.3
RULES = [name for name, rule in METHODS.items() if rule.traits.only_for != "full fits"]


def batch(seed, n_groups, n=60):
    rng = np.random.default_rng(seed)
    x = torch.tensor(rng.normal(size=(n, 4)), dtype=torch.float32)
    y = torch.tensor(rng.integers(2, size=n))
    group = torch.tensor(rng.integers(n_groups, size=n))
    return x, y, group


def sums_by_definition(name, h, y, group, n_groups):
    """Per event and group, numerator (differentiable) and denominator of the criterion's mean."""
    wrong = torch.where(y == 1, 1 - h, h)
    everyone = torch.ones_like(y, dtype=torch.bool)
    parts = {
        "equal-opportunity": [(y == 1, wrong, torch.ones_like(h))],
        "predictive-equality": [(y == 0, wrong, torch.ones_like(h))],
        "equalized-odds": [(y == 1, wrong, torch.ones_like(h)), (y == 0, wrong, torch.ones_like(h))],
        "error-parity": [(everyone, wrong, torch.ones_like(h))],
        "demographic-parity": [(everyone, h, torch.ones_like(h))],
        "predictive-parity": [(everyone, (1 - y) * h, h)],
    }[name]
    cells = [[mask & (group == g) for g in range(n_groups)] for mask, _, _ in parts]
    top = [[value[cell].sum() for cell in row] for row, (_, value, _) in zip(cells, parts, strict=True)]
    bottom = [[size[cell].sum() for cell in row] for row, (_, _, size) in zip(cells, parts, strict=True)]
    return torch.stack([torch.stack(row) for row in top]), torch.stack([torch.stack(row) for row in bottom])


def means(top, bottom, seen=None, n=None):
    """Per event, one differentiable mean per group (None if empty) and its size.

    With the sums `seen` over several batches, the value is theirs, and it moves as if the batch of `n` had each cell in
    its share of them.
    """
    events = []
    for e in range(len(top)):
        row = []
        for k in range(top.shape[1]):
            up, down = top[e, k], bottom[e, k]
            if seen is None:
                row.append((up / down, float(down.detach())) if down > 0 else (None, 0.0))
                continue
            all_up, all_down, total = seen[0][e, k], seen[1][e, k], seen[2]
            if all_down == 0:
                row.append((None, 0.0))
                continue
            mu = all_up / all_down
            moved = (up - mu * down) / (n * all_down / total)
            row.append((mu + moved - moved.detach(), float(all_down)))
        events.append(row)
    return events


def gaps_by_definition(events, n_groups):
    """Rows of d = C mu with their coefficients, by loops; rows that touch an empty cell are left out as None."""
    rows = []
    for row in events:
        total = sum(size for _, size in row)
        if n_groups == 2:
            both = all(mean is not None for mean, _ in row)
            rows.append((row[0][0] - row[1][0], [1.0, -1.0], row) if both else None)
            continue
        average = sum(size / total * mean for mean, size in row if mean is not None)
        for g, (mean, _) in enumerate(row):
            shares = [size / total for _, size in row]
            coefficients = [(1.0 if k == g else 0.0) - shares[k] for k in range(n_groups)]
            rows.append((mean - average, coefficients, row) if mean is not None else None)
    return rows


def penalty(name, events, n_groups, dual):
    """The penalty of each rule at the multipliers `dual`, in the paper's words."""
    rows = gaps_by_definition(events, n_groups)
    if name == "unconstrained":
        return torch.zeros(())
    if name == "reweight":
        cells = [(mean, size) for row in events for mean, size in row if mean is not None]
        scale = sum(1 / size for _, size in cells)
        return sum(mean / size / scale for mean, size in cells)
    result = torch.zeros(())
    for i, row in enumerate(rows):
        if row is None:
            continue
        d, coefficients, cells = row
        if name == "l2":
            result = result + ETA * d**2
        elif name == "lagrangian":
            plus, minus = dual.reshape(2, -1)[:, i]
            result = result + plus * (d - TOL) + minus * (-d - TOL)
        elif name == "proxy-lagrangian":
            theta = dual.reshape(2, -1)[:, i]
            rise = theta.exp() / (1 + theta.exp().sum())
            result = result + rise[0] * (d - TOL) + rise[1] * (-d - TOL)
        elif name in ("fairalm-linear", "pi-control"):
            result = result + dual.reshape(-1)[i] * d
        elif name == "augmented":
            result = result + dual.reshape(-1)[i] * d + ETA / 2 * d**2
        elif name == "fairalm":
            present = [(c, mean) for c, (mean, _) in zip(coefficients, cells, strict=True) if mean is not None]
            result = result + dual.reshape(-1)[i] * d + ETA * sum(abs(c) * mean for c, mean in present)
    return result


def as_on_a_device(criterion):
    """The tables as a device other than the CPU would have them, in tensors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairalm.nn.loss._on_host", lambda device: False)
        return criterion.to("cpu")


def make(rule, constraint, n_groups, **settings):
    method = METHODS[rule]() if rule in ("reweight", "unconstrained") else METHODS[rule](eta=ETA)
    made, loss = CONSTRAINTS[constraint](tol=TOL), settings.pop("loss", nn.BCEWithLogitsLoss(reduction="none"))
    settings = {"window": 0, **settings}
    return ConstrainedLoss(loss, made, method, n_groups=n_groups, **settings)


@pytest.mark.parametrize("host", [True, False], ids=["host", "device"])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10**6),
    n_groups=st.sampled_from([2, 3]),
    window=st.sampled_from([0, 1, 4]),
    absent=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), max_size=3),
    n=st.sampled_from([12, 40]),
)
def test_gradient_is_that_of_the_formula(rule, constraint, host, seed, n_groups, window, absent, n):
    """Over four steps; (label, group) pairs in `absent` have nobody in the first two batches.

    A rule that keeps its weights between dual steps is asked for the gradient at the last one.
    """
    criterion = make(rule, constraint, n_groups, window=window)
    if not host:
        criterion = as_on_a_device(criterion)
    rng = np.random.default_rng(seed)
    w = torch.tensor(rng.normal(size=4), dtype=torch.float32, requires_grad=True)
    keeps, before, kept = METHODS[rule].traits.every > 1 and window > 0, None, None
    for t in range(4):
        x, y, group = batch(rng.integers(10**6), n_groups, n=n)
        for label, member in absent if t < 2 else ():
            there = (y == label) & (group == member)
            group = torch.where(there, (member + 1) % n_groups, group)
        if METHODS[rule].traits.has_dual and not keeps:
            criterion.dual.copy_(torch.tensor(rng.uniform(0.05, 0.5, criterion.dual.shape)))
        w.grad = None
        criterion(x @ w, y.float(), group).backward()
        logits = x @ w
        top, bottom = sums_by_definition(constraint, torch.sigmoid(logits), y, group, n_groups)
        if before is None:
            before = 0.0 * top.detach(), 0.0 * bottom.detach(), 0
        seen = before[0] + top.detach(), before[1] + bottom.detach(), before[2] + n
        formula = nn.functional.binary_cross_entropy_with_logits(logits, y.float())
        if not keeps or kept is not None:
            events = means(top, bottom, kept if keeps else seen, n) if window else means(top, bottom)
            formula = formula + penalty(rule, events, n_groups, criterion.dual)
        (gradient,) = torch.autograd.grad(formula, w)
        torch.testing.assert_close(w.grad, gradient, rtol=2e-4, atol=2e-6)
        criterion.step()
        if t % METHODS[rule].traits.every == 0:
            kept = seen
        if window:
            before = tuple((1 - 1 / window) * part for part in seen)


def test_the_dual_step_uses_the_window():
    criterion = make("augmented", "equal-opportunity", 2, window=4)
    sums = torch.zeros(2, 2)
    for seed in range(3):
        x, y, group = batch(seed, 2, n=20)
        wrong = 1 - torch.sigmoid(x.sum(dim=1))
        mine = [(y == 1) & (group == g) for g in (0, 1)]
        sums = sums + torch.stack([torch.stack([wrong[m].sum() for m in mine]), torch.tensor([m.sum() for m in mine])])
        d = sums[0, 0] / sums[1, 0] - sums[0, 1] / sums[1, 1]
        before = criterion.dual.clone()
        criterion(x.sum(dim=1), y.float(), group)
        criterion.step()
        moved = before + ETA * d
        torch.testing.assert_close(criterion.dual, moved - moved.clip(-ETA * TOL, ETA * TOL))
        sums = sums * 0.75


def test_algorithm_2_as_written():
    """Dual from the losses after the primal step, over 50 steps, against a transcription."""
    tau, eta, beta = 0.3, 0.05, 0.01
    model = nn.Linear(4, 1)
    w, b = model.weight.detach()[0].clone(), model.bias.detach().clone()
    criterion = ConstrainedLoss(
        nn.BCEWithLogitsLoss(reduction="none"),
        fairalm.EqualOpportunity(),
        fairalm.FairALM(eta=eta, eta_beta=beta),
        n_groups=2,
        surrogate="log",
        dual_from="observe",
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=tau)
    lam = 0.0
    for t in range(50):
        x, y, group = batch(t, 2)
        optimizer.zero_grad()
        criterion(model(x)[:, 0], y.float(), group).backward()
        optimizer.step()
        with torch.no_grad():
            criterion.observe(model(x)[:, 0], y.float(), group)
        criterion.step()

        step = eta * (1 + beta) ** t
        w.requires_grad_(True)
        b.requires_grad_(True)
        loss = nn.functional.binary_cross_entropy_with_logits(x @ w + b, y.float(), reduction="none")
        mu = [loss[(y == 1) & (group == g)].mean() for g in (0, 1)]
        v = torch.autograd.grad(loss.mean() + (lam + step) * mu[0] - (lam - step) * mu[1], (w, b))
        w, b = (w - tau * v[0]).detach(), (b - tau * v[1]).detach()
        after = nn.functional.binary_cross_entropy_with_logits(x @ w + b, y.float(), reduction="none")
        mu = [after[(y == 1) & (group == g)].mean() for g in (0, 1)]
        lam = lam + step * float(mu[0] - mu[1])
    torch.testing.assert_close(model.weight.detach()[0], w, rtol=1e-4, atol=1e-5)
    assert float(criterion.dual) == pytest.approx(lam, rel=1e-4)


def test_one_two_and_many_columns_agree():
    x, y, group = batch(3, 2)
    score = x @ torch.tensor([1.0, -0.5, 0.2, 0.1])
    two = torch.stack([torch.zeros_like(score), score], dim=1)
    many = torch.stack([torch.full_like(score, -50.0), torch.zeros_like(score), score], dim=1)
    settings = {"n_groups": 2, "surrogate": "sigmoid"}
    each = {
        "one": (
            ConstrainedLoss(
                nn.BCEWithLogitsLoss(reduction="none"), fairalm.EqualOpportunity(), fairalm.FairALM(), **settings
            ),
            score,
            y.float(),
        ),
        "two": (
            ConstrainedLoss(
                nn.CrossEntropyLoss(reduction="none"), fairalm.EqualOpportunity(), fairalm.FairALM(), **settings
            ),
            two,
            y,
        ),
        "many": (
            ConstrainedLoss(
                nn.CrossEntropyLoss(reduction="none"), fairalm.EqualOpportunity(target=2), fairalm.FairALM(), **settings
            ),
            many,
            y + 1,
        ),
    }
    values = {name: float(criterion(logits, label, group)) for name, (criterion, logits, label) in each.items()}
    assert values["one"] == pytest.approx(values["two"], rel=1e-5) == pytest.approx(values["many"], rel=1e-5)
    gaps = [float(criterion.last.gap) for criterion, *_ in each.values()]
    assert gaps == pytest.approx([gaps[0]] * 3, rel=1e-5)


@pytest.mark.parametrize("rule", RULES)
def test_micro_batches_make_one_dual_step(rule):
    whole, parts = make(rule, "equal-opportunity", 2), make(rule, "equal-opportunity", 2)
    x, y, group = batch(4, 2)
    score = x.sum(dim=1)
    whole(score, y.float(), group)
    whole.step()
    for rows in (slice(0, 7), slice(7, 40), slice(40, 60)):
        parts(score[rows], y[rows].float(), group[rows])
    parts.step()
    torch.testing.assert_close(parts.dual, whole.dual)


def test_proxy_moves_by_errors_not_by_the_surrogate():
    x, y, group = batch(5, 2)
    score = x.sum(dim=1)
    criterion = make("proxy-lagrangian", "equal-opportunity", 2)
    criterion(score, y.float(), group)
    criterion.step()
    wrong = (score <= 0).float()
    d = wrong[(y == 1) & (group == 0)].mean() - wrong[(y == 1) & (group == 1)].mean()
    torch.testing.assert_close(criterion.dual.flatten(), torch.stack([ETA * (d - TOL), ETA * (-d - TOL)]))


def test_state_survives():
    criterion = make("fairalm", "equalized-odds", 3, window=5)
    for seed in range(3):
        x, y, group = batch(seed, 3)
        criterion(x.sum(dim=1), y.float(), group)
        criterion.step()
    again = make("fairalm", "equalized-odds", 3, window=5)
    again.load_state_dict(copy.deepcopy(criterion.state_dict()))
    assert again.t == criterion.t == 4
    x, y, group = batch(9, 3)
    for one in (criterion, again):
        one(x.sum(dim=1), y.float(), group)
        one.step()
    torch.testing.assert_close(again.dual, criterion.dual, rtol=0, atol=0)


def state_of(criterion):
    return criterion.state_dict()["_extra_state"]


def assert_same(state, expected):
    assert state.keys() == expected.keys()
    for name, value in state.items():
        assert torch.equal(value, expected[name]) if torch.is_tensor(value) else value == expected[name], name


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))], ids=["copy", "pickle"])
def test_a_copy_has_a_life_of_its_own(duplicate):
    criterion = make("pi-control", "equal-opportunity", 2, window=5)
    x, y, group = batch(0, 2)
    criterion(x.sum(dim=1), y.float(), group)
    criterion.step()
    other, kept = duplicate(criterion), copy.deepcopy(state_of(criterion))

    def train(loss):
        for _ in range(2):  # the rule moves its multipliers at every other step
            loss(-x.sum(dim=1), y.float(), group)
            loss.step()

    train(other)
    assert other.t == 4
    assert_same(state_of(criterion), kept)
    assert not torch.equal(other.dual, kept["dual"])
    train(criterion)
    torch.testing.assert_close(other.dual, criterion.dual, rtol=0, atol=0)


def test_the_log_loss_in_one_call_is_the_mean_of_its_rows():
    x, y, group = batch(0, 2)
    results = []
    for loss in (nn.BCEWithLogitsLoss(reduction="none"), lambda z, t: nn.BCEWithLogitsLoss(reduction="none")(z, t)):
        criterion = ConstrainedLoss(loss, fairalm.EqualOpportunity(), n_groups=2)
        logits = x.sum(dim=1).requires_grad_()
        for _ in range(3):
            scalar = criterion(logits, y.float(), group)
            criterion.step()
        scalar.backward()
        results.append((scalar.detach(), logits.grad, criterion.last.loss))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("window", [0, 20])
def test_a_rule_that_moves_at_every_other_step_sees_all_batches_since(window):
    criterion = make("pi-control", "equal-opportunity", 2, window=window)
    sums, seen = torch.zeros(2, 4), []
    for step in range(1, 12):
        x, y, group = batch(step, 2)
        criterion(x.sum(dim=1), y.float(), group)
        wrong = ((x.sum(dim=1) > 0) != (y == 1)).float()
        sums += torch.stack([torch.bincount(2 * group + y, part, 4) for part in (wrong, torch.ones_like(wrong))])
        expected = float(sums[0, 1] / sums[1, 1] - sums[0, 3] / sums[1, 3])
        before = criterion.dual.clone()
        criterion.step()
        seen.append(not torch.equal(criterion.dual, before))
        if step % 2:
            names = ("integral", "gain", "share", "low", "high")
            kept, k, share, low, high = (float(state_of(criterion)[name]) for name in names)
            gain = k * criterion.method.eta
            value = kept + gain * expected
            value = math.copysign(max(abs(value) - gain * (criterion.constraint.tol - 0.01), 0.0), value)
            assert float(criterion.dual) == pytest.approx(min(max(value, low), high) * share, rel=1e-3, abs=1e-6)
            if not window:
                sums.zero_()
        if window:
            sums *= 1 - 1 / window
    assert seen == [step % 2 == 1 for step in range(1, 12)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_it_stays_in_float32_when_the_net_is_cast(dtype):
    criterion = make("augmented", "equal-opportunity", 2, window=3).to(dtype)
    assert criterion.dual.dtype == torch.float32
    x, y, group = batch(0, 2)
    w = torch.zeros(4, dtype=dtype, requires_grad=True)
    criterion(x.to(dtype) @ w, y.to(dtype), group).backward()
    criterion.step()
    assert w.grad.dtype == dtype


def test_eval_accumulates_nothing():
    criterion = make("lagrangian", "equal-opportunity", 2, window=3).eval()
    x, y, group = batch(6, 2)
    before = copy.deepcopy(state_of(criterion))
    criterion(x.sum(dim=1), y.float(), group)
    assert_same(state_of(criterion), before)
    with pytest.raises(InputError, match="before any batch was seen"):
        criterion.step()


def test_attach_steps_after_the_optimizer_and_can_be_undone():
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters())
    criterion = make("lagrangian", "equal-opportunity", 2)
    handle = criterion.attach(optimizer)
    x, y, group = batch(7, 2)
    criterion(model(x)[:, 0], y.float(), group).backward()
    optimizer.step()
    assert criterion.t == 2
    handle.remove()
    criterion(model(x)[:, 0], y.float(), group).backward()
    optimizer.step()
    assert criterion.t == 2


def test_bfloat16_logits():
    x, y, group = batch(8, 2)
    low = make("augmented", "equal-opportunity", 2)
    value = low(x.sum(dim=1).bfloat16(), y.bfloat16(), group)
    assert torch.isfinite(value)
    assert low.last.gap.dtype == torch.float32


@pytest.mark.parametrize("rule", RULES)
def test_under_autocast_the_gradient_is_that_of_full_precision_to_its_own(rule):
    x, y, group = batch(12, 2)
    gradients = []
    for low in (False, True):
        torch.manual_seed(0)
        model = nn.Linear(4, 2)
        criterion = make(rule, "equal-opportunity", 2, loss=nn.CrossEntropyLoss(reduction="none"))
        criterion.dual.fill_(0.3)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=low):
            criterion(model(x), y, group).backward()
        gradients.append(model.weight.grad)
    assert gradients[0].dtype == torch.float32
    torch.testing.assert_close(gradients[1], gradients[0], rtol=0.03, atol=0.01)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")  # torch's own
@pytest.mark.parametrize("rule", RULES)
def test_under_torch_compile_the_run_is_the_same(rule):
    ends = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
        criterion = make(rule, "equalized-odds", 2, window=3)
        criterion.attach(optimizer)

        def loss_of(x, y, group, model=model, criterion=criterion):
            return criterion(model(x)[:, 0], y.float(), group)

        run = torch.compile(loss_of, backend="aot_eager") if compiled else loss_of
        for seed in range(4):
            optimizer.zero_grad()
            run(*batch(seed, 2)).backward()
            optimizer.step()
        ends.append([model.weight.detach(), criterion.dual])
    torch.testing.assert_close(ends[1], ends[0], rtol=1e-6, atol=1e-7)


class NoSync(TorchDispatchMode):
    """Refuses what would make the host wait for a device."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert "_local_scalar_dense" not in str(func), f"{func} waits for the device"
        assert "nonzero" not in str(func), f"{func} waits for the device"
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("rule", RULES)
def test_off_the_host_nothing_waits_for_the_device(rule, constraint):
    criterion = as_on_a_device(make(rule, constraint, 3, window=3))
    x, y, group = batch(0, 3)
    w = torch.zeros(4, requires_grad=True)
    criterion(x @ w, y.float(), group).backward()  # the first batch is checked, which waits
    criterion.step()
    with NoSync():
        criterion(x @ w, y.float(), group).backward()
        criterion.step()
    with pytest.raises(AssertionError, match="waits"), NoSync():
        x.sum().item()


@pytest.mark.parametrize("surrogate", ["sigmoid", "log", "hinge"])
@pytest.mark.parametrize("target", [0, 2])
def test_several_classes(target, surrogate):
    """The gradient against autograd of the surrogate of the target's margin over all others."""
    rng = torch.Generator().manual_seed(1)
    x, y = torch.randn(50, 4, generator=rng), torch.randint(4, (50,), generator=rng)
    group = torch.randint(2, (50,), generator=rng)
    w = torch.randn(4, 4, generator=rng, requires_grad=True)
    criterion = ConstrainedLoss(
        nn.CrossEntropyLoss(reduction="none"),
        fairalm.EqualizedOdds(target=target),
        fairalm.FairALMLinear(),
        n_groups=2,
        surrogate=surrogate,
    )
    criterion.dual.copy_(torch.tensor([[0.4], [-0.3]]))
    criterion(x @ w, y, group).backward()
    logits = x @ w
    others = [k for k in range(4) if k != target]
    margin = logits[:, target] - torch.logsumexp(logits[:, others], dim=1)
    lead = torch.where(y == target, -margin, margin)
    loss = {
        "sigmoid": torch.sigmoid(lead),
        "log": nn.functional.softplus(lead),
        "hinge": nn.functional.relu(1 + lead),
    }[surrogate]
    formula = nn.functional.cross_entropy(logits, y)
    for multiplier, event in ((0.4, y == target), (-0.3, y != target)):
        formula = formula + multiplier * (loss[event & (group == 0)].mean() - loss[event & (group == 1)].mean())
    (gradient,) = torch.autograd.grad(formula, w)
    torch.testing.assert_close(w.grad, gradient, rtol=1e-4, atol=1e-6)


def test_a_criterion_that_looks_beyond_the_row_is_refused():
    @dataclass(frozen=True, kw_only=True)
    class Strange(fairalm.Constraint):
        def events(self, y):
            return (Event("all", sign=1.0 * y.mean()),)

    with pytest.raises(InputError, match="depend on more than a row's own label"):
        ConstrainedLoss(nn.BCEWithLogitsLoss(reduction="none"), Strange(), n_groups=2)


def test_the_default_needs_no_rule():
    criterion = ConstrainedLoss(nn.BCEWithLogitsLoss(reduction="none"), fairalm.EqualOpportunity(), n_groups=2)
    assert criterion.method == fairalm.PIControl()
    assert criterion.window == 20


def test_training_closes_the_gap():
    rng = torch.Generator().manual_seed(0)
    n = 4000
    group = torch.randint(2, (n,), generator=rng)
    y = (torch.rand(n, generator=rng) < 0.25 + 0.35 * group).long()
    x = torch.stack([1.2 * y + torch.randn(n, generator=rng), group + 0.5 * torch.randn(n, generator=rng)], dim=1)

    def train(method):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        criterion = ConstrainedLoss(
            nn.BCEWithLogitsLoss(reduction="none"), fairalm.EqualOpportunity(), method, n_groups=2, window=10
        )
        criterion.attach(optimizer)
        for _ in range(20):
            for rows in torch.randperm(n, generator=rng).split(256):
                optimizer.zero_grad()
                criterion(model(x[rows])[:, 0], y[rows].float(), group[rows]).backward()
                optimizer.step()
        wrong = (model(x)[:, 0] > 0) != (y == 1)
        missed = [wrong[(y == 1) & (group == g)].float().mean() for g in (0, 1)]
        return float(abs(missed[0] - missed[1])), float(wrong.float().mean())

    plain, fair = train(fairalm.Unconstrained()), train(fairalm.AugmentedLagrangian(eta=0.05))
    assert plain[0] > 0.15
    assert fair[0] < 0.05
    assert fair[1] < plain[1] + 0.05


class TestNoStep:
    """The multipliers move at step() only, which is easy to forget."""

    def used(self, rule, n, *, step_every=0, train=True, **settings):
        criterion = make(rule, "equal-opportunity", 2, **settings).train(train)
        x, y, group = batch(0, 2)
        for i in range(1, n + 1):
            criterion(x.sum(dim=1), y.float(), group)
            if step_every and i % step_every == 0:
                criterion.step()

    @pytest.mark.parametrize("settings", [{}, {"window": 20}, {"dual_from": "observe"}], ids=repr)
    def test_a_hundred_batches_without_a_step_warn_once(self, settings):
        with pytest.warns(NoStepWarning) as caught:
            self.used("pi-control", 250, **settings)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        advice = "call criterion.step() after each optimiser step, or criterion.attach(optimizer) once."
        assert str(caught[0].message).endswith(advice)

    # warnings are errors in the tests

    def test_ninety_nine_do_not(self):
        self.used("pi-control", 99)

    def test_accumulated_gradients_do_not(self):
        self.used("fairalm", 300, step_every=99)

    def test_a_method_without_multipliers_does_not(self):
        self.used("l2", 150)

    def test_validation_does_not(self):
        self.used("pi-control", 150, train=False)


class TestBadInput:
    def refused(self, match, *, logits=None, y=None, group=None, loss=None, **settings):
        settings = {"n_groups": 2, **settings}
        loss = nn.BCEWithLogitsLoss(reduction="none") if loss is None else loss
        criterion = ConstrainedLoss(loss, fairalm.EqualOpportunity(), fairalm.FairALM(), **settings)
        logits = torch.zeros(4) if logits is None else logits
        y = torch.tensor([0.0, 1.0, 0.0, 1.0]) if y is None else y
        group = torch.tensor([0, 0, 1, 1]) if group is None else group
        with pytest.raises(InputError, match=match) as caught:
            criterion(logits, y, group)
        assert "\n" not in str(caught.value)

    def test_batches(self):
        self.refused("logits must have shape", logits=torch.zeros(2, 2, 2))
        self.refused("one label and one group per row", group=torch.tensor([0, 1]))
        self.refused("one label and one group per row", y=torch.zeros(3))
        self.refused(r"group must lie in 0\.\.1", group=torch.tensor([0, 1, 2, 0]))
        self.refused("must hold integers", group=torch.tensor([0.0, 1.0, 0.0, 1.0]))
        self.refused(r"logits has 1 NaN", logits=torch.tensor([0.0, float("nan"), 0.0, 0.0]))
        self.refused(r"y must hold the classes 0\.\.1", y=torch.tensor([0.0, 1.0, 2.0, 1.0]))
        self.refused("one number per row", loss=nn.BCEWithLogitsLoss())

    def test_settings(self):
        for wrong, match in [
            ({"n_groups": 1}, "n_groups"),
            ({"window": -1}, "window"),
            ({"surrogate": "cosine"}, "surrogate 'cosine'"),
            ({"dual_from": "test"}, "dual_from"),
        ]:
            with pytest.raises(InputError, match=match):
                ConstrainedLoss(
                    nn.CrossEntropyLoss(reduction="none"),
                    fairalm.EqualOpportunity(),
                    fairalm.FairALM(),
                    **{"n_groups": 2, **wrong},
                )
        with pytest.raises(InputError, match="There is no constraint 'equal-oportunity', did you mean"):
            ConstrainedLoss(nn.CrossEntropyLoss(), "equal-oportunity", n_groups=2)
        with pytest.raises(InputError, match="There is no method 'fair-alm', did you mean 'fairalm'"):
            ConstrainedLoss(nn.CrossEntropyLoss(), "equal-opportunity", "fair-alm", n_groups=2)
        with pytest.raises(InputError, match="Method for mini-batches"):
            ConstrainedLoss(nn.CrossEntropyLoss(), fairalm.EqualOpportunity(), fairalm.SecantALM(), n_groups=2)

    def test_step_before_forward(self):
        with pytest.raises(InputError, match=r"call forward\(\) in training mode first"):
            make("fairalm", "equal-opportunity", 2).step()


def test_constraint_and_method_by_name():
    loss = nn.BCEWithLogitsLoss(reduction="none")
    criterion = ConstrainedLoss(loss, "error-parity", "fairalm", n_groups=2)
    assert (criterion.constraint, criterion.method) == (fairalm.ErrorParity(), fairalm.FairALM())
    assert ConstrainedLoss(loss, "equal-opportunity", n_groups=2).method == fairalm.PIControl()


@pytest.mark.parametrize("settings", [{"ratio": 0.8}, {"reference": 0}])
def test_a_ratio_or_a_reference_is_for_the_frontier(settings):
    loss = nn.BCEWithLogitsLoss(reduction="none")
    with pytest.raises(InputError, match=r"only fairalm\.FrontierClassifier .*can bound"):
        ConstrainedLoss(loss, fairalm.DemographicParity(**settings), n_groups=2)
