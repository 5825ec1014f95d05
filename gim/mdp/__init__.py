"""The world as a table: `TabularMDP`, its checks, names, variables, ways in, sampling; `Policy`.

Imports planning and what is below. Begin with `tabular.py`.
"""
