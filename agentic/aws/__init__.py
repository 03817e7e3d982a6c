"""What touches AWS: nothing else imports its SDK.

aws_place    where things are on AWS, as plain values; no SDK
clients      one session and one set of clients a process; time-outs, and what is tried again
aws_errors   what AWS answered, as an error that says what to do
items        items of DynamoDB, and what can be done to one
bucket       objects of S3, with their versions
"""
