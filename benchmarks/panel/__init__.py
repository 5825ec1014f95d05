"""The panel: sixteen small worlds of all kinds, on which the default learner is designed.

`python -m benchmarks.panel` plays them and compares with figures that were stored (`today.json`);
see `benchmarks.panel.__main__`.
"""
