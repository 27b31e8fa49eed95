"""The ``headway`` command: starts the mesh on one machine, asks it, and says what is missing."""
