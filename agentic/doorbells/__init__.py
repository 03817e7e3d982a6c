"""Doorbells: how a process that stores what people do tells those who work on it.

doorbell         the protocol
shared_inbox     several processes on one machine: whoever works looks into the inbox they share
queue_doorbell   many machines: a queue of SQS

One process needs none: who stores an item wakes its session.
"""
