"""The embedded store: one SQLite file in WAL mode, and a folder beside it for very large content.

One writer thread owns the only connection that writes; it takes all transactions that wait, runs each in a
savepoint, and commits them together with synchronous=FULL (``writer``).  Reads are short and run where they are
asked for, on a connection of their own.
"""
