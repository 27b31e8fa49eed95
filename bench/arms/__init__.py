"""The arms of the pipeline experiment: the same request answered as people write it first, with one technique after the
other, by the mesh, and by the least that is possible."""
