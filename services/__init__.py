"""The four services of the mesh; each folder is one, and none knows another."""
