"""`python -m bestarm.cli`, for where the console script is not on the path."""

import sys

from bestarm.cli import main

sys.exit(main())
