"""What people are told when something cannot be done: why, and what to do instead."""

VIEWER = "You may look here, but not start or steer tasks. Ask an operator of this server for the right to."
NOT_YOURS = "That is someone else's task. Its author or an operator can steer it; 🛑 stops it."
NOTHING_RUNS = "Nothing is running here. Write what I should do."
IN_THE_THREAD = "That works in a task's thread. Here, write my name and a task, and I open one."
ANSWERED = "This question is no longer open."
