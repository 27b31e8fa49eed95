"""Measurements of the mesh: what it costs, what each technique is worth. Whatever is said of speed comes from here."""
