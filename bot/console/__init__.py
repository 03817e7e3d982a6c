"""The web console: what the agent thought, saw, did and cost.

It is a process of its own beside the bot and reads the store, so that no page costs the loop that serves threads
anything. What people do on a page goes to the bot over a private channel (``bot_channel.py``), where the rights of the
chat apply.

    access    who somebody is, and what they may see
    logs      logs of tasks, read once and followed as they grow
    views     what a page shows, made of a log; pure
    pages     requests and answers
    hindsight a task as it was at the end of a turn, and beside another one
    exports   a task as a file: HTML, JSON lines, ATIF, Markdown
"""
