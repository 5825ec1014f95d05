"""The report: one self-contained page, and the same figures as files fit for a paper."""
