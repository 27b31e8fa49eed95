"""The catalogue: records of what can be recommended, how they come in from files, and the one file they are kept in.

Shared by the command line, which imports, and by the retrieval service, which searches. Knows no service and no wire.
"""
