"""A local AWS: DynamoDB, SQS and S3 on loopback, to try Threadwright out and to test against.

It belongs to what is deployed, not to the product: MiniStack needs another botocore than the product has, so it runs
in an environment of its own (`make aws`), and no wheel holds it.
"""
