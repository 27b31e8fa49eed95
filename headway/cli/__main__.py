"""``python -m headway.cli``: the ``headway`` command where its script is not on the path."""

from __future__ import annotations

import sys

from headway.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
