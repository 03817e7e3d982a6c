"""The prompt for a summary before the history is shortened.

Reason: the log of what was done keeps what can be counted; only the model knows which facts it will need. The request
has the same system text, tools and history as its turns, so the provider's cache serves all but these words, which are
in the volatile tail. What is not written down here is lost, which is why it says so.
"""

TEXT = """\
[Threadwright shortens the history now]
All of it except the task and your last turns is about to be replaced by a log of what was done (tools, OK or FAILED, \
the beginning of each result) and by what you write now. Write down what must not be forgotten:
- facts, values, names, paths and decisions, word for word, also those that stand in an earlier summary;
- what was tried and did not work, and why;
- what is open, and the next step.
Your notes, your to-do list and what people said are kept anyway. Short lines, at most 400 words. Answer in text only, \
without a tool call: nothing is run now, and nobody but you reads it."""
