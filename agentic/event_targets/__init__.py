"""Delivers what happens in executions to targets outside: a file, a webhook, a queue.

event_publisher  reads what waits from the store, and delivers it to each target at its own pace
event_target     what a target does
event_file       lines of JSON, in files of bounded size
event_webhook    signed HTTP requests
event_queue      SQS
event_schema     the JSON schema of what is delivered
"""
