"""Compilation: numba, its cache, and what a compiled loop works on.

Imports `_base` only. Begin with `jit.py`: hot, rare and entry, the three ways to compile a
function.
"""
