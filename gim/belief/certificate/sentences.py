"""What a certificate says, in sentences that a person can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gim.analogy.witnesses import refuted
from gim.belief.shares import percent

if TYPE_CHECKING:
    from gim.belief.certificate.certificate import Certificate

MUCH = 0.1  # a larger share asks for more episodes
UNKNOWN = "how far that is from the best is not known yet: more episodes would tell"
NOTHING = 1e-4  # a loss of no larger a share of what is expected is next to nothing


def sentences(it: Certificate) -> tuple[str, ...]:
    """Of the policy, of what was inferred, of what is assumed."""
    assumed = (f"this holds if {' and '.join(it.assumed)}",) if it.assumed else ()
    return of_returns(it), of_pairs(it), *assumed


def of_returns(it: Certificate) -> str:
    """What the policy earns and loses, or why that cannot be said."""
    expects = f"the policy expects {figure(it.expected)} an episode"
    if it.refuted is not None:
        return f"{contradiction(it)}; {expects}"
    if it.why == "untold":
        return (
            f"{it.kind}: no bound, since it would rest on how large rewards may be, which nobody "
            f"told (reward_range=); {expects}"
        )
    how = "with probability" if it.kind == "credible" else "with a probability of at least"
    low, high = (figure(x) for x in it.earns)
    earns = (
        f"{it.kind}: {how} {percent(it.share)} the policy earns between {low} and {high} an episode"
    )
    if not it.useless:
        loss = part_of_the_best(it, it.loss)
        more = ", which more episodes would narrow" if it.loss > MUCH * abs(it.expected) else ""
        return f"{earns} and loses {loss}{more}; it expects {figure(it.expected)}"
    if it.kind == "guaranteed":
        return (
            f"{it.kind}: no useful bound, more episodes are needed "
            f"(kind='credible' gets by with fewer); {expects}"
        )
    return f"{earns}; {UNKNOWN}"


def contradiction(it: Certificate) -> str:
    """What the model says, and who saw otherwise."""
    assert it.refuted is not None
    who = refuted(it.refuted, it.witnesses)
    assert who is not None
    low, high, least, most = (figure(x) for x in (*it.refuted, who.lower, who.upper))
    return (
        f"{it.kind}: contradicted, and so no bound: what was learned says that the policy earns "
        f"between {low} and {high} an episode, but {who.what} say between {least} and {most}"
    )


def part_of_the_best(it: Certificate, loss: float) -> str:
    """A loss, beside what is expected."""
    if loss <= NOTHING * abs(it.expected):
        return "next to nothing of the best"
    part = f" ({percent(loss / abs(it.expected))})" if it.expected else ""
    return f"at most {figure(loss)}{part} of the best"


def of_pairs(it: Certificate) -> str:
    """What is inferred, and what of it has no bound."""
    masks = it.inferred, it.unmet, it.unbounded
    inferred, unmet, silent = (int(mask.sum()) for mask in masks)
    if not inferred:
        return "every pair has enough visits of its own; nothing is inferred"
    met = f"{unmet:,} of them never met"
    if unmet in (0, inferred):
        met = "met already" if not unmet else "never met"
    text = f"{pairs(inferred, 'is', 'are')} inferred, {met}"
    if silent == inferred:
        return f"{text}; none has a bound on its error: none was ever met"
    text = f"{text}; bounds on errors have a nominal coverage of {percent(it.of_pairs)}"
    if silent:
        text = f"{text}, but the {silent:,} never met have none"
    return text


def pairs(number: int, one: str, many: str) -> str:
    """So many pairs, and the verb that goes with them."""
    return f"1 pair {one}" if number == 1 else f"{number:,} pairs {many}"


def figure(value: float) -> str:
    """Four digits."""
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
