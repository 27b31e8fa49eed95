"""Writes items from records, with a model or on the floor, each sent the moment it is complete."""
