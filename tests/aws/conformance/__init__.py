"""What DynamoDB, S3 and SQS, or whatever stands in for them, have to do for the store; each check by itself.

make conformance-aws                             MiniStack, started for it
make conformance-aws AWS_ENDPOINT_URL=http://…   anything else that speaks as AWS does
make conformance-aws REAL=yes                    the account of your credentials: under a cent, nothing is left behind
"""
