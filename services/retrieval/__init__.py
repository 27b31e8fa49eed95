"""Finds records that a recommendation can rest on, in the catalogue and on the web."""
