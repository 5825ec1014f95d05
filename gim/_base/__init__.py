"""What every room stands on: parameters, registry, files, limits, tables of text and HTML.

Imports nothing of gim. Begin with `params.py`: how parameters are declared once, checked and
listed.
"""
