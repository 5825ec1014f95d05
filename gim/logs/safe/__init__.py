"""Safe policies: what to deploy when the log is all there is.

One file for each; `gim.learn(log, safe=...)` takes a name, a spec string such as "spibb:n=10", or
one of the classes.
"""

from __future__ import annotations

from typing import Any

from gim._base.registry import did_you_mean, parse
from gim.logs.safe.base import Case, Safe
from gim.logs.safe.bernstein import Bernstein
from gim.logs.safe.duipi import DUIPI
from gim.logs.safe.plain import Plain
from gim.logs.safe.r_min import RMin
from gim.logs.safe.ramdp import RaMDP
from gim.logs.safe.robust import Robust
from gim.logs.safe.spibb import SPIBB, LowerSPIBB
from gim.logs.safe.vi_lcb import VILCB

METHODS: dict[str, type[Safe]] = {
    "plain": Plain,
    "vi_lcb": VILCB,
    "r_min": RMin,
    "ramdp": RaMDP,
    "duipi": DUIPI,
    "spibb": SPIBB,
    "lower_spibb": LowerSPIBB,
    "robust": Robust,
    "bernstein": Bernstein,
}

__all__ = ["METHODS", "Case", "Safe", "safe_policy"]


def spec_of(method: Safe) -> str:
    """The spec string of a safe policy; "" of one of one's own."""
    name = next((name for name, made in METHODS.items() if made is type(method)), "")
    told = [f"{x}={y}" for x, y in vars(method).items() if y is not None]
    return f"{name}:{','.join(told)}" if name and told else name


def safe_policy(given: Any) -> Safe:
    """The method of this name or spec string; one that is built already is passed on.

    Example:
        >>> safe_policy("spibb:n=10")
        SPIBB(n=10.0)
    """
    if isinstance(given, Safe):
        return given
    spec = parse(str(given))
    if spec.name not in METHODS:
        raise ValueError(f"unknown safe policy {spec.name!r}{did_you_mean(spec.name, METHODS)}")
    try:
        return METHODS[spec.name](**spec.args)
    except TypeError:
        known = ", ".join(METHODS[spec.name].__dataclass_fields__) or "none"
        raise ValueError(
            f"safe policy {given}: the parameters of {spec.name} are {known}"
        ) from None
