"""Time mdpsolver: ``mdpsolver_plan.py PROBLEM.npz VALUES.npz SETTINGS.json``.

The problem holds P [S, A, S] (or its CSR parts), r [S, A] and the discount. Each setting is the
keyword arguments of ``model.solve``. Handing the problem over is timed apart; to make the lists
that it takes is not timed at all.

With ``- -`` in place of the last two, settings come one by one on the standard input, a line of
JSON each with a limit of processor seconds, beyond which the system ends the process; what is told
of each are its seconds and its error, beside the problem's `truth`.
"""

import json
import resource
import sys
from statistics import median
from time import process_time

import mdpsolver
import numpy as np


def transitions(problem, S, A):
    """Give the transitions as the lists that the peer takes."""
    if "P" in problem:
        return {"tranMatWithZeros": problem["P"].tolist()}
    rows = [
        (problem["data"][i:j].tolist(), problem["indices"][i:j].tolist())
        for i, j in zip(problem["indptr"][:-1], problem["indptr"][1:], strict=True)
    ]
    return {
        "tranMatProbs": [[p for p, _ in rows[s * A : s * A + A]] for s in range(S)],
        "tranMatColumns": [[t for _, t in rows[s * A : s * A + A]] for s in range(S)],
    }


def serve(mdp, truth):
    """Answer one setting after the other."""
    for line in sys.stdin:
        asked = json.loads(line)
        began = process_time()
        resource.setrlimit(
            resource.RLIMIT_CPU, (int(began) + 1 + asked["limit"], resource.RLIM_INFINITY)
        )
        mdp.solve(**asked["setting"], parallel=False)
        seconds = process_time() - began
        error = float(np.abs(np.array(mdp.getValueVector()) - truth).max())
        print(json.dumps({"seconds": seconds, "error": error}), flush=True)


def main(problem_file, values_file, settings_file):
    """Print the seconds of building and of each setting, and save the values it found."""
    mdp = mdpsolver.model()
    with np.load(problem_file) as file:
        problem = dict(file)
    discount, r = float(problem["discount"]), problem["r"].tolist()
    parts = transitions(problem, *problem["r"].shape)
    began = process_time()
    mdp.mdp(discount=discount, rewards=r, **parts)
    building = process_time() - began
    if settings_file == "-":
        serve(mdp, problem["truth"])
        return
    with open(settings_file) as file:
        asked = json.load(file)
    seconds, values = [], {}
    for i, setting in enumerate(asked["settings"]):
        began = process_time()
        mdp.solve(**setting, parallel=False)
        first = process_time() - began
        calls = max(1, int(asked["batch_seconds"] / first))
        values[str(i)] = np.array(mdp.getValueVector())
        took = []
        for _ in range(asked["repeats"] if first < asked["long"] else 0):
            began = process_time()
            for _ in range(calls):
                mdp.solve(**setting, parallel=False)
            took.append((process_time() - began) / calls)
        seconds.append(median(took or [first]))
    np.savez(values_file, **values)
    print(json.dumps({"building": building, "seconds": seconds}))


main(*sys.argv[1:])
