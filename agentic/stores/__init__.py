"""Where executions are kept: in memory, or in one SQLite file.  Both hold the same contract (``ports.Store``)."""
