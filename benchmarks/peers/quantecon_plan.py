"""Time QuantEcon's DiscreteDP: ``quantecon_plan.py PROBLEM.npz VALUES.npz SETTINGS.json``.

The problem holds P [S, A, S] (or its CSR parts), r [S, A] and the discount. Each setting is the
keyword arguments of ``DiscreteDP.solve``, or {"horizon": H} for ``backward_induction``. Building
the DiscreteDP is timed apart.

With ``- -`` in place of the last two, settings come one by one on the standard input, a line of
JSON each with a limit of processor seconds, beyond which the system ends the process; what is told
of each are its seconds and its error, beside the problem's `truth`.
"""

import json
import resource
import sys
from statistics import median
from time import process_time

import numpy as np
from quantecon.markov import DiscreteDP
from quantecon.markov.ddp import backward_induction
from scipy.sparse import csr_matrix


def model(problem):
    """Build the peer's own object from the problem file."""
    r, discount = problem["r"], float(problem["discount"])
    if "P" in problem:
        return DiscreteDP(r, problem["P"], discount)
    S, A = r.shape
    Q = csr_matrix((problem["data"], problem["indices"], problem["indptr"]), shape=(S * A, S))
    pairs = np.arange(S * A)
    return DiscreteDP(r.reshape(-1), Q, discount, pairs // A, pairs % A)


def solve(ddp, setting):
    """Give the values of the first step."""
    if "horizon" in setting:
        return backward_induction(ddp, setting["horizon"])[0][0]
    return ddp.solve(**setting).v


def timed(job, asked):
    """Give what the job gives, and its median seconds; once is enough if it takes long."""
    began = process_time()
    found = job()
    first = process_time() - began
    calls = max(1, int(asked["batch_seconds"] / first))
    took = []
    for _ in range(asked["repeats"] if first < asked["long"] else 0):
        began = process_time()
        for _ in range(calls):
            job()
        took.append((process_time() - began) / calls)
    return found, median(took or [first])


def serve(problem):
    """Answer one setting after the other."""
    ddp, ready = model(problem), set()
    for line in sys.stdin:
        asked = json.loads(line)
        setting = asked["setting"]
        if setting["method"] not in ready:  # compiles
            solve(ddp, setting | {"max_iter": 2})
            ready.add(setting["method"])
        began = process_time()
        resource.setrlimit(
            resource.RLIMIT_CPU, (int(began) + 1 + asked["limit"], resource.RLIM_INFINITY)
        )
        v = solve(ddp, setting)
        seconds = process_time() - began
        error = float(np.abs(v - problem["truth"]).max())
        print(json.dumps({"seconds": seconds, "error": error}), flush=True)


def main(problem_file, values_file, settings_file):
    """Print the median seconds of building and of each setting, and save the values it found."""
    with np.load(problem_file) as file:
        problem = dict(file)
    if settings_file == "-":
        serve(problem)
        return
    with open(settings_file) as file:
        asked = json.load(file)
    ddp, building = timed(lambda: model(problem), asked)
    for setting in asked["settings"]:  # compiles
        solve(ddp, {"horizon": 2} if "horizon" in setting else setting | {"max_iter": 2})
    found = [timed(lambda s=setting: solve(ddp, s), asked) for setting in asked["settings"]]
    np.savez(values_file, **{str(i): v for i, (v, _) in enumerate(found)})
    print(json.dumps({"building": building, "seconds": [took for _, took in found]}))


main(*sys.argv[1:])
