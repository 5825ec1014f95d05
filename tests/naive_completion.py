"""Slow, obvious twins of the fast kernels: one row, one matrix, one number at a time."""

from __future__ import annotations

import numpy as np


def als_by_rows(
    matrices, weights, rank, ridge, rng, tolerance=1e-3, max_iterations=100, starts=None
):
    """Alternating least squares as it is described: a ridge regression for each row in turn."""
    completed = np.zeros_like(matrices)
    for k, M in enumerate(matrices):
        S, A = M.shape
        U, V = np.zeros((S, rank)), rng.standard_normal((A, rank))
        if starts is not None:
            V = starts[k].copy()
        X = U @ V.T
        for _ in range(max_iterations):
            for s in range(S):
                U[s] = ridge_regression(V, M[s], weights[s], ridge)
            for a in range(A):
                V[a] = ridge_regression(U, M[:, a], weights[:, a], ridge)
            before, X = X, U @ V.T
            if np.linalg.norm(X - before) <= tolerance * np.linalg.norm(X):
                break
        completed[k] = X
    return completed


def ridge_regression(features, targets, weights, ridge):
    """Minimise sum w (target - x . feature)^2 + ridge |x|^2 over the seen entries."""
    seen = weights > 0
    F, w = features[seen], weights[seen]
    normal = (F.T * w) @ F + ridge * np.eye(F.shape[1])
    return np.linalg.solve(normal, F.T @ (w * targets[seen]))


def project_simplex(p):
    """Find tau by bisection: max(p - tau, 0) must sum to 1."""
    low, high = p.min() - 1.0, p.max()
    for _ in range(200):
        tau = (low + high) / 2
        if np.maximum(p - tau, 0).sum() > 1:
            low = tau
        else:
            high = tau
    return np.maximum(p - tau, 0)


def incoherence(M, r):
    """mu0 and mu1 in the three scalings, entry by entry."""
    n1, n2 = M.shape
    U, values, Vt = np.linalg.svd(M)
    row = [sum(U[i, k] ** 2 for k in range(r)) for i in range(n1)]
    column = [sum(Vt[k, j] ** 2 for k in range(r)) for j in range(n2)]
    scaled = aligned = 0.0
    for i in range(n1):
        for j in range(n2):
            terms = [U[i, k] * Vt[k, j] for k in range(r)]
            aligned = max(aligned, abs(sum(terms)))
            scaled = max(scaled, abs(sum(t * values[k] / values[0] for k, t in enumerate(terms))))
    mu0 = (
        max(row + column) / r,
        max(np.sqrt(max(row) * n1 / r), np.sqrt(max(column) * n2 / r)),
        max(max(row) * n1 / r, max(column) * n2 / r),
    )
    mu1 = (
        scaled / np.sqrt(r),
        aligned / np.sqrt(r / (n1 * n2)),
        scaled / np.sqrt(r / (n1 * n2)),
    )
    return mu0, mu1
