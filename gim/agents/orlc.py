"""ORLC, optimistic learning with policy certificates (Dann, Li, Wei and Brunskill, 2019).

Each episode follows the greedy policy of upper values; lower values of that same policy are planned
with them. Their difference at the start is the certificate of the episode, issued before it is
played: no more can be lost. With n visits of a pair and w the width of the reward range,

    phi  = min(1, sqrt(.52 / n (1.4 ln ln max(e, 2 n) + ln(26 S A (H + 1 + S) / delta))))
    psi  = (w + sqrt(12) sigma) phi + 45 S H^2 w phi^2 + p (U_{h+1} - L_{h+1}) / H
    Q_h  = min(the most that can come, r + p U_{h+1} + psi)
    L_h  = max(the least that can come, r + p L_{h+1} - psi)    at the greedy action

where phi is times `scale`, p is the estimate, and sigma the standard deviation of U_{h+1} under it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim._compile.jit import bind, hot
from gim._compile.memory import VISITS, Limit, Limits, actions
from gim.agents import episodic
from gim.agents.backups import moments_csr, moments_dense
from gim.agents.episodic import Episodic
from gim.agents.ucbvi import columns_csr, columns_dense
from gim.analogy.base import inferences
from gim.analogy.prior import Floats
from gim.belief.evidence import Evidence
from gim.belief.knowledge import Knowledge, divided, mean_rewards
from gim.model.rewards import LargestReward, LeastReward, most_to_come
from gim.model.task import Mind, Task
from gim.planning.sweeps import rows_of, take_best
from gim.runs.agent import GO_ON, Agent

ROOM = 1024  # certificates at first


class Memory(NamedTuple):
    """As `gim.agents.episodic.Memory`, with lower values and the certificates."""

    belief: Knowledge
    q: NDArray[np.float64]  # [H, S, A] upper values; -inf where not available
    v: NDArray[np.float64]  # [H + 1, S] their maxima; the last row is 0
    policy: NDArray[np.int64]  # [H, S]
    later: NDArray[np.float64]  # [S, A]
    now: NDArray[np.float64]  # [S, A]
    stale: NDArray[np.bool_]  # [1]
    urgent: NDArray[np.bool_]  # [1]
    pause: NDArray[np.int64]  # [1]
    waited: NDArray[np.int64]  # [1]
    surprise: NDArray[np.float64]  # [1]
    surprise_weight: NDArray[np.float64]  # [1]
    lower: NDArray[np.float64]  # [H + 1, S] lower values of the policy; the last row is 0
    certificates: NDArray[np.float64]  # [room] of each episode, as issued before it
    played: NDArray[np.int64]  # [1] episodes that were

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        more = {"certificates": Limit(grows=True), "played": VISITS}
        return more | {"policy": actions(self.q)}

    def fault(self) -> str:
        """What no run leaves behind; see `gim._compile.memory`."""
        room = self.certificates.size
        return "" if self.played[0] < room else f"played = {self.played[0]} of a room of {room}"


learn_and_plan = episodic.learn


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Count; keep the certificate of the episode that begins."""
    if h == 0:
        memory.certificates[memory.played[0]] = memory.v[0, s] - memory.lower[0, s]
    if end != GO_ON:
        memory.played[0] += 1
    return learn_and_plan(memory, s, h, a, r, t, end, rng)


columns, moments = columns_dense, moments_dense  # the template is bound to one pair or the other


def certify(P: Any, pairs: Any, H2: float, bounds: Any, available: Any, plan: Any) -> None:
    """Upper and lower backward induction, into plan = (q, v, lower, policy).

    `pairs` are rewards and phi [S, A], and the width w; a pair with phi < 0 was never met. `bounds`
    are the most and the least that can come, [H] each; H2 is 45 S H^2.
    """
    (r, phi, w), (most, least), (q, v, lower, policy) = pairs, bounds, plan
    H, S, A = q.shape
    by_next = columns(P)
    up, square, down, spare = np.empty((4, S * A))
    v[H] = 0.0
    lower[H] = 0.0
    for h in range(H - 1, -1, -1):
        moments(by_next, v[h + 1], up, square)
        moments(by_next, lower[h + 1], down, spare)
        for s in range(S):
            for a in range(A):
                i, f = s * A + a, phi[s, a]
                sigma = math.sqrt(max(0.0, square[i] - up[i] * up[i]))
                psi = (w + math.sqrt(12.0) * sigma) * f + H2 * w * f * f + (up[i] - down[i]) / H
                met = f >= 0.0
                q[h, s, a] = min(most[h], r[s, a] + up[i] + psi) if met else most[h]
                down[i] = max(least[h], r[s, a] + down[i] - psi) if met else least[h]
                if not available[s, a]:
                    q[h, s, a] = -np.inf
        take_best(q[h], v[h], policy[h])
        for s in range(S):
            lower[h, s] = down[s * A + policy[h, s]]


certify_dense = bind(certify, "dense", columns=columns_dense, moments=moments_dense)
certify_csr = bind(certify, "csr", columns=columns_csr, moments=moments_csr)


@dataclass(frozen=True)
class ORLC(Episodic, Agent, name="orlc"):
    """Upper and lower values of one policy: each episode has a certificate of what it may lose."""

    scale: Annotated[float, Within(0), "times phi; 1: as published, and certificates hold"] = 0.002
    delta: Annotated[float, Within(1e-12, 1), "probability that certificates may fail"] = 0.1
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    examples = ("", "scale=1,delta=0.5", "infer=by_completion(m=2,rho=0.3)")

    learn = staticmethod(learn)  # type: ignore[misc]  # Agent declares it, Episodic has its own

    def start(self, task: Task, rng: np.random.Generator) -> Any:
        """Nothing seen, no certificate issued."""
        return Memory(
            *Episodic.start(self, task, rng),
            lower=np.zeros((task.H + 1, task.S)),
            certificates=np.zeros(ROOM),
            played=np.zeros(1, np.int64),
        )

    def think(self, memory: Any, mind: Mind) -> Any:
        """Plan; make room for the certificate of the next episode."""
        memory = Episodic.think(self, memory, mind)
        if memory.played[0] == memory.certificates.size:
            room = np.concatenate([memory.certificates, np.zeros(memory.certificates.size)])
            memory = memory._replace(certificates=room)
        return memory

    def plan(self, memory: Any, seen: Evidence, rewards: tuple[float, float], mind: Mind) -> None:
        """Upper and lower values, backwards together."""
        (low, high), (S, A, H) = rewards, (mind.task.S, mind.task.A, mind.task.H)
        log = math.log(26 * S * A * (H + 1 + S) / self.delta)
        phi = self.scale * width(np.minimum(seen.n, seen.n_r), log)
        phi[(seen.n <= 0) | (seen.n_r <= 0)] = -1.0  # never met
        r, ends = mean_rewards(seen, high), memory.belief.terminal
        r[ends] = phi[ends] = 0.0
        most, least = most_to_come(H, high), -most_to_come(H, -low)
        rows = rows_of(divided(seen.N, seen.n), S, A)
        induct = certify_csr if isinstance(rows, tuple) else certify_dense
        induct(
            rows,
            (r, phi, high - low),
            45.0 * S * H * H,
            (most, least),
            mind.task.available,
            (memory.q, memory.v, memory.lower, memory.policy),
        )

    def certificates(self, memory: Any) -> Floats:
        """What each episode could lose at the most, [episodes], as issued before it was played."""
        issued: Floats = memory.certificates[: memory.played[0]]
        return issued.copy()


def width(n: Floats, log: float) -> Floats:
    """min(1, sqrt(.52 / n (1.4 ln ln max(e, 2 n) + log))) [S, A]; 1 where n is 0."""
    lil = 1.4 * np.log(np.log(np.maximum(math.e, 2 * n)))
    return np.minimum(1.0, np.sqrt(0.52 / np.maximum(n, 1e-300) * (lil + log)))
