"""What no inequality says: where the theory speaks of another problem than the one we want solved."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairalm.constraints import EqualizedOdds, EqualOpportunity
from fairalm.measures.text import percent
from fairalm.mixtures import best_mixture
from reproduction.theory.families import Family, Models
from reproduction.theory.plays import LinearStep, play_many
from reproduction.theory.saddle import first_case, optimum, proximal_value, second_case

BEYOND = 100.0  # a price no family here reaches: the constraint is met exactly


class Finding(NamedTuple):
    """A sentence with its numbers."""

    name: str  # what it is about
    text: str
    figures: dict[str, float]


def leash(family: Family, rounds: int) -> Finding:
    """What the second case leaves of the original problem after T rounds."""
    eta = second_case([rounds], family.largest).eta
    plays = play_many(family, LinearStep(), eta, [rounds])
    last, gap = float(plays.last[0]), float(plays.gap[0])
    plain, best = int(family.errors.argmin()), optimum(family)
    value = proximal_value(family, last, float(eta[0]))
    text = (
        f"{family.name}: with η = 1/T and T = {rounds:,}, λ_T = {last:.2g} where {best.multiplier:.2g} is needed. The"
        f" average play's gap is {percent(gap, 2)}, the plain model's {percent(family.gaps[plain], 2)}. L_T has the"
        f" value {percent(value, 2)}, the plain error is {percent(family.errors[plain], 2)}, and the problem's value is"
        f" {percent(best.value, 2)}."
    )
    figures = {"last": last, "best": best.multiplier, "gap": gap, "augmented_value": value, "value": best.value}
    return Finding("the leash", text, figures)


def last_play(family: Family, rounds: int, *, bound: float = 1.0) -> Finding:
    """The paper returns h_T; the theorem is about the average play."""
    eta = first_case([rounds], family.largest, bound).eta
    plays = play_many(family, LinearStep(bound), eta, [rounds])
    last = int(family.answer(plays.last)[0])
    figures = {
        "average_error": float(plays.error[0]),
        "average_gap": float(plays.gap[0]),
        "last_error": float(family.errors[last]),
        "last_gap": float(family.gaps[last]),
    }
    shown = [percent(value, 2) for value in figures.values()]
    text = (
        f"{family.name}: after T = {rounds:,} rounds of the first case the average play has error {shown[0]} and gap"
        f" {shown[1]}; h_T, which Algorithm 1 returns, {shown[2]} and {shown[3]}."
    )
    return Finding("the last play", text, figures)


def per_classifier(models: Models) -> Finding:
    """Equation 2 forbids every classifier with a gap; equation 3 asks for the gap of the mixture."""
    family = models.family(EqualOpportunity())
    fair = family.gaps == 0  # the two constants are always among these
    each, mixed = float(family.errors[fair].min()), optimum(family).value
    text = (
        f"{family.name}: equation 2 (q_i d_i = 0 for all i) allows {fair.sum()} of {len(fair)} classifiers, those with"
        f" gap exactly 0, and its best error is {percent(each, 2)}; equation 3 (Σ q_i d_i = 0) reaches"
        f" {percent(mixed, 2)}."
    )
    return Finding("equations 2 and 3", text, {"fair": float(fair.sum()), "equation_2": each, "equation_3": mixed})


def cancellation(models: Models) -> Finding:
    """d⁰ + d¹ = 0 is met by two gaps of opposite sign."""
    gaps = models.gaps(EqualizedOdds())
    means = np.stack([gaps, np.zeros_like(gaps)], axis=-1)  # only their difference counts
    summed = best_mixture(models.errors, means.sum(axis=1, keepdims=True), tol=0.0, bound=BEYOND)
    both = best_mixture(models.errors, means, tol=0.0, bound=BEYOND)
    missed, alarms = map(float, summed.weights @ gaps)
    error, error_both = (float(mixture.weights @ models.errors) for mixture in (summed, both))
    text = (
        f"{models.name}: the best mixture with d⁰ + d¹ = 0 has d¹ = {percent(missed, 2)} and d⁰ = {percent(alarms, 2)},"
        f" at error {percent(error, 2)}; with both gaps 0 the error is {percent(error_both, 2)}."
    )
    figures = {"fnr_gap": missed, "fpr_gap": alarms, "error": error, "error_both": error_both}
    return Finding("d⁰ + d¹ = 0", text, figures)


def jensen(models: Models) -> Finding:
    """When eta (mu0 + mu1), which Algorithm 2 adds, is above eta/2 d², which it stands for."""
    means = np.stack([moments.mu[0] for moments in models.moments(EqualOpportunity(), models.wrong)])
    total = means.sum(axis=1)
    known = total > 0  # "everybody" misses nobody
    ratios = (means[known, 0] - means[known, 1]) ** 2 / (2.0 * total[known])
    high, low = -np.log(0.01), -np.log(0.9)  # log losses of a sure mistake and of a good guess
    figures = {"zero_one": float(ratios.max()), "log_loss": float((high - low) ** 2 / (2.0 * (high + low)))}
    text = (
        f"d² / 2(μ⁰ + μ¹), which must not pass 1, is at most {figures['zero_one']:.2f} for the 0/1 errors of"
        f" {models.name}, where it can never pass 1/2: the Jensen step is a bound there. For mean log losses"
        f" of {high:.1f} and {low:.1f} it is {figures['log_loss']:.1f}, and the step is none."
    )
    return Finding("the Jensen step", text, figures)
