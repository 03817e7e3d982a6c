"""Prices in US dollars, without taxes and without any free allowance.

Region us-east-1, as AWS's price pages gave them in 2025 and, for MicroVMs, in the middle of 2026.  They were written down
from memory and from what others published of them, since nothing could be fetched where this was written: look at the pages
before you rely on a figure.
"""

from __future__ import annotations

HOURS = 730
"""In a month."""
MILLION = 1_000_000

# DynamoDB, paid by request
WRITE_UNIT, READ_UNIT = 0.625 / MILLION, 0.125 / MILLION
TABLE_GB, TABLE_BACKUP_GB = 0.25, 0.20
"""A month of a GB, and of its recovery to a point in time."""
# S3
BUCKET_GB, PUT, GET = 0.023, 5.0 / MILLION, 0.4 / MILLION
# SQS, SNS
QUEUE_REQUEST = 0.40 / MILLION
# CloudWatch
ALARM, LOG_GB, LOG_KEPT_GB = 0.10, 0.50, 0.03
# EC2
ADDRESS_HOUR = 0.005
DISK_GB = 0.08
MACHINE_HOUR = {"t3.small": 0.0208, "t3.medium": 0.0416, "t3.large": 0.0832, "t4g.medium": 0.0336, "m7i.large": 0.1008}
# ECR
IMAGE_GB = 0.10
# Left out of the template for their price
NAT_HOUR, INTERFACE_HOUR, SECRET_MONTH = 0.045, 0.01, 0.40
# Fargate on Graviton
FARGATE_CPU_HOUR, FARGATE_GB_HOUR = 0.03238, 0.00356
# Lambda MicroVMs
MICROVM_CPU_SECOND, MICROVM_GB_SECOND, MICROVM_SNAPSHOT_GB = 27.6944 / MILLION, 3.6667 / MILLION, 0.08
# EKS
CLUSTER_HOUR = 0.10
