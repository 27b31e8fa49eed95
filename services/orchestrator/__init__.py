"""Divides the time of a request over the mesh and streams the answer."""
