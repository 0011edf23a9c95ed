"""What our speed promises cost, measured. A report, never an assertion: `python -m tests.bench`."""
