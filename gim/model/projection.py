"""temp"""

import numpy as np


def project_simplex(P):
    S = P.shape[-1]
    u = -np.sort(-P, axis=-1)
    c = np.cumsum(u, -1) - 1
    k = np.arange(1, S + 1)
    n = (u - c / k > 0).sum(-1, keepdims=True)
    th = np.take_along_axis(c, n - 1, -1) / n
    return np.maximum(P - th, 0)
