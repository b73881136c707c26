"""What an operator is worth, as solvers and reports see it. (`certify` computes it again, on its own.)"""

from __future__ import annotations

from fractions import Fraction

from pipefill_opt.fill.problem import Configuration, Job, ValueRule


def time_per_sample(job: Job) -> Fraction:
    """Ticks: the least exclusive time per sample over the job's configurations, at nominal speed."""
    return min(
        Fraction(sum(operator.duration for operator in configuration.operators)) / configuration.samples
        for configuration in job.configurations
    )


def operator_values(job: Job, configuration: Configuration) -> tuple[Fraction, ...]:
    """Value of each operator of the chain, before the job's weight.

    An operator's own value wins; else its FLOPs with `value: flops`; else useful GPU time: V = samples x least time
    per sample, spread in proportion to duration and rounded down cumulatively.
    """
    useful = configuration.samples * time_per_sample(job)
    total = sum(operator.duration for operator in configuration.operators)
    values = []
    elapsed = worth = 0
    for operator in configuration.operators:
        elapsed += operator.duration
        share = useful * elapsed // total - worth
        worth += share
        if operator.value is not None:
            values.append(operator.value)
        elif job.value_rule is ValueRule.FLOPS:
            values.append(operator.flops)
        else:
            values.append(Fraction(share))
    return tuple(values)
