import sys
from pathlib import Path

MUTATION = Path(__file__).parents[2] / "mutation"

# The scripts import each other by bare names. Last, so that they stand before nothing that the tests import.
if str(MUTATION) not in sys.path:
    sys.path.append(str(MUTATION))
