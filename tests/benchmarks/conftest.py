import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

# The scripts import each other by bare names. Last, so that they stand before nothing that the tests import.
if str(BENCHMARKS) not in sys.path:
    sys.path.append(str(BENCHMARKS))
