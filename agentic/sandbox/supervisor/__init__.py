"""The resident supervisor: the first process of a sandbox, which does there what its owner asks.

It is carried in as one file (``agentic.sandbox.protocol.supervisor_bundle`` packs this folder) and run by whichever
Python of 3.9 or newer the
sandbox has, so it uses the standard library only and nothing of the other packages.  It is one loop, and threads only
where many files are gone through (``walks``), so that the loop answers a kill at once whatever lies in the folders:

    owner -- frames --> main.Supervisor -> files, search, archives   (confined to the workspace)
                                        -> commands, interpreter     (processes, each with a tag)
                                        -> scan                      (what changed)

It runs under the same user as the commands, so it guards itself: as PID 1 it cannot be killed or stopped from inside its
namespace, it is not dumpable (no tracing, no reading of its memory), and it takes no signal.  When the owner's heartbeat
stops or the pipe closes it kills everything and ends.
"""
