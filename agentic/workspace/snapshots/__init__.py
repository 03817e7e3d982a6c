"""The workspace as it was at some moment, kept outside of it, and put back from there.

A snapshot is a manifest (every path with its kind, mode and hash) and the content of its files in packs.  The files are
read on the host, for a checkpoint needs no sandbox; so everything goes by descriptor and follows no link, and nothing of
the workspace is run.  Each thread has a folder of its own: whether some content is already kept is no question that one
thread could ask about another, and a thread's snapshots can be deleted as a whole.  A fork begins with links to those that
its log names (``adopt``).
"""
