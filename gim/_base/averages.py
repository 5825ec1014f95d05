"""Groups of equal size: what every averaged curve is drawn from.

A point that is the mean of one episode swings twice as far as one that is the mean of four, so a
curve of points of different sizes shows a spread that is not there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def size_for(n: int, most: int) -> int:
    """The least size of groups of which at most so many hold n things.

    Example:
        >>> size_for(100, 60), size_for(5, 60)
        (2, 1)
    """
    return max(1, -(-n // most))


def equal_groups(n: int, size: int) -> NDArray[np.int64]:
    """The places 0 to n-1 in groups of this size (of n, if that is less), in order, [groups, size].

    Each is in a group. Where the size does not divide n the last group takes in as many of the one
    before as it lacks.

    Example:
        >>> equal_groups(5, 2).tolist()
        [[0, 1], [2, 3], [3, 4]]
    """
    size = max(1, min(size, n))
    first = np.minimum(np.arange(0, n, size), n - size)
    return np.asarray(first[:, None] + np.arange(size), np.int64)
