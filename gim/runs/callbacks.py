"""Callbacks that hand the progress of a run to other people's tools.

    from torch.utils.tensorboard import SummaryWriter       # or from tensorboardX
    gim.run("psrl", "riverswim", 5000, callback=tensorboard(SummaryWriter("logs")))

    import wandb
    gim.run("psrl", "riverswim", 5000, callback=weights_and_biases(wandb.init(project="mine")))

Nothing of these tools is imported here: what you give is used as it is.
"""

from __future__ import annotations

from typing import Any

from gim.runs.reports import Callback, Report


def tensorboard(writer: Any, prefix: str = "gim") -> Callback:
    """Write mean return and steps to a TensorBoard writer, by episode.

    Args:
        writer: a `SummaryWriter`, of torch or tensorboardX: whatever has
            `add_scalar(name, value, step)`.
        prefix: of the names.
    """

    def told(report: Report) -> None:
        for name, value in _numbers(report).items():
            writer.add_scalar(f"{prefix}/{name}", value, report.episode)

    return told


def weights_and_biases(run: Any, prefix: str = "gim") -> Callback:
    """Log mean return and steps to a run of Weights & Biases, by episode.

    Args:
        run: what `wandb.init` returns: whatever has `log(mapping, step=...)`.
        prefix: of the names.
    """

    def told(report: Report) -> None:
        named = {f"{prefix}/{name}": value for name, value in _numbers(report).items()}
        run.log(named, step=report.episode)

    return told


def _numbers(report: Report) -> dict[str, float]:
    return {
        "mean_return": report.mean,
        "steps": float(report.steps),
        "steps_per_second": report.steps / max(report.seconds, 1e-9),
    }
