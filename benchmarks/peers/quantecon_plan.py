"""Time QuantEcon's DiscreteDP: ``quantecon_plan.py PROBLEM.npz VALUES.npz SETTINGS.json``.

The problem holds P [S, A, S] (or its CSR parts), r [S, A] and the discount. Each setting is the
keyword arguments of ``DiscreteDP.solve``. Building the DiscreteDP is not timed.
"""

import json
import sys
from statistics import median
from time import process_time

import numpy as np
from quantecon.markov import DiscreteDP
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


def main(problem_file, values_file, settings_file):
    """Print the median seconds of each setting, and save the values it found."""
    with open(settings_file) as file:
        asked = json.load(file)
    with np.load(problem_file) as problem:
        ddp = model(problem)
    seconds, values = [], {}
    for i, setting in enumerate(asked["settings"]):
        began = process_time()
        values[str(i)] = ddp.solve(**setting).v  # the first call also compiles
        calls = max(1, int(asked["batch_seconds"] / (process_time() - began)))
        took = []
        for _ in range(asked["repeats"]):
            began = process_time()
            for _ in range(calls):
                ddp.solve(**setting)
            took.append((process_time() - began) / calls)
        seconds.append(median(took))
    np.savez(values_file, **values)
    print(json.dumps(seconds))


main(*sys.argv[1:])
