"""The store of many machines: one DynamoDB table and one bucket (docs/decisions/0075)."""
