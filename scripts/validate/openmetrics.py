"""Reads a file of OpenMetrics with the parser of the reference implementation, which
refuses what the specification does, and says what is in it:

    python openmetrics.py FILE
"""

import sys

from prometheus_client.openmetrics.parser import text_fd_to_metric_families

with open(sys.argv[1], encoding="utf-8") as file:
    families = list(text_fd_to_metric_families(file))
samples = sum(len(family.samples) for family in families)
if not samples:
    sys.exit(f"{sys.argv[1]}: no sample")
print(f"{len(families)} families, {samples} samples")
