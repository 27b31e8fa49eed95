"""Recorded answers of real services, put through the adapters that read them.

The one part of the measurements that imports services: what it tries are the services' own readers, byte by byte, which
no client of theirs could.
"""
