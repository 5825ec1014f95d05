"""What is reproduced and studied: one experiment a file, in a folder for each study.

Begin with `experiment.py`; README.md beside it says what each folder holds.
"""
