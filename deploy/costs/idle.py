"""What the template costs in a month in which nobody says anything, counted from the template itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from deploy.costs import prices

TEMPLATE = Path(__file__).parent.parent / "cdk/template.yaml"
LIMIT = 25.0
"""US dollars beside the machines."""
FREE = frozenset(
    {
        "AWS::AutoScaling::AutoScalingGroup", "AWS::EC2::InternetGateway", "AWS::EC2::LaunchTemplate", "AWS::EC2::Route",
        "AWS::EC2::RouteTable", "AWS::EC2::SecurityGroup", "AWS::EC2::Subnet", "AWS::EC2::SubnetRouteTableAssociation",
        "AWS::EC2::VPC", "AWS::EC2::VPCGatewayAttachment", "AWS::ECS::CapacityProvider", "AWS::ECS::Cluster",
        "AWS::ECS::ClusterCapacityProviderAssociations", "AWS::ECS::Service", "AWS::ECS::TaskDefinition", "AWS::Events::Rule",
        "AWS::IAM::InstanceProfile", "AWS::IAM::Policy", "AWS::IAM::Role", "AWS::Logs::LogGroup", "AWS::S3::BucketPolicy",
        "AWS::SNS::Subscription", "AWS::SNS::Topic", "AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy",
    }
)  # fmt: skip
"""Kinds that cost nothing by being there; what runs on them is counted with the machines."""


@dataclass(frozen=True, slots=True)
class Idle:
    """What is kept, and how often processes look while nothing happens; an estimate, on the high side."""

    machines: int = 1
    workers: int = 1
    gateways: int = 1
    table_gb: float = 2.0
    bucket_gb: float = 10.0
    image_gb: float = 1.0
    log_gb: float = 0.3
    worker_queries: float = 40 / 30
    """Queries a second of a worker's sweeper: five sorts of what waits over eight shards, every 30 seconds."""
    gateway_writes: float = 0.3
    """Writes a second of a gateway, which says that its shards are still its own."""


@dataclass(frozen=True, slots=True)
class Line:
    """A part of the bill."""

    what: str
    usd: float


class Unpriced(Exception):
    """The template has a kind of resource of which no price is known here."""


def idle(template: Mapping[str, Any], load: Idle | None = None) -> list[Line]:
    """A month's bill beside the machines; raises ``Unpriced``."""
    load = load or Idle()
    lines: list[Line] = []
    for name, resource in template["Resources"].items():
        kind = str(resource["Type"])
        if kind in FREE:
            continue
        priced = PRICED.get(kind)
        if priced is None:
            raise Unpriced(f"{name} is a {kind}, and deploy/costs knows no price of that: write it there")
        lines += [Line(f"{name}: {line.what}", line.usd) for line in priced(resource.get("Properties", {}), load)]
    return [*lines, *_besides(load)]


def kept() -> dict[str, Any]:
    """The committed template."""
    return yaml.load(TEMPLATE.read_text("utf-8"), Loader=yaml.CSafeLoader)


def _table(_: Mapping[str, Any], load: Idle) -> Iterator[Line]:
    month = prices.HOURS * 3600
    yield Line(f"{load.table_gb:g} GB with recovery", load.table_gb * (prices.TABLE_GB + prices.TABLE_BACKUP_GB))
    yield Line("workers look around", load.workers * load.worker_queries * month * 0.5 * prices.READ_UNIT)
    yield Line("files that all share are looked at", (load.workers + load.gateways) * 0.1 * month * prices.READ_UNIT)
    yield Line("gateways say that they live", load.gateways * load.gateway_writes * month * prices.WRITE_UNIT)


def _queue(properties: Mapping[str, Any], load: Idle) -> Iterator[Line]:
    if "RedrivePolicy" in properties:  # the doorbell, at which each worker waits
        wait = int(properties["ReceiveMessageWaitTimeSeconds"])
        yield Line("workers wait", load.workers * prices.HOURS * 3600 / wait * prices.QUEUE_REQUEST)


def _alarm(properties: Mapping[str, Any], _: Idle) -> Iterator[Line]:
    yield Line("alarm", prices.ALARM * len(properties.get("Metrics", (1,))))


def _endpoint(properties: Mapping[str, Any], _: Idle) -> Iterator[Line]:
    if properties.get("VpcEndpointType") != "Gateway":
        yield Line("interface endpoint in two zones", 2 * prices.INTERFACE_HOUR * prices.HOURS)


def _bucket(_: Mapping[str, Any], load: Idle) -> Iterator[Line]:
    yield Line(f"{load.bucket_gb:g} GB", load.bucket_gb * prices.BUCKET_GB)


def _nat(_: Mapping[str, Any], __: Idle) -> Iterator[Line]:
    yield Line("NAT gateway", prices.NAT_HOUR * prices.HOURS)


def _secret(_: Mapping[str, Any], __: Idle) -> Iterator[Line]:
    yield Line("secret", prices.SECRET_MONTH)


PRICED: Mapping[str, Callable[[Mapping[str, Any], Idle], Iterator[Line]]] = {
    "AWS::DynamoDB::Table": _table,
    "AWS::SQS::Queue": _queue,
    "AWS::CloudWatch::Alarm": _alarm,
    "AWS::EC2::VPCEndpoint": _endpoint,
    "AWS::S3::Bucket": _bucket,
    "AWS::EC2::NatGateway": _nat,
    "AWS::SecretsManager::Secret": _secret,
}


def _besides(load: Idle) -> Iterator[Line]:
    """What comes with the machines and is not their own price."""
    disk = kept_disk()
    yield Line(f"addresses of {load.machines} machines", load.machines * prices.ADDRESS_HOUR * prices.HOURS)
    yield Line(f"disks of {load.machines} × {disk} GB", load.machines * disk * prices.DISK_GB)
    yield Line(f"images of {load.image_gb:g} GB", load.image_gb * prices.IMAGE_GB)
    yield Line(f"logs of {load.log_gb:g} GB", load.log_gb * (prices.LOG_GB + prices.LOG_KEPT_GB))


def kept_disk() -> int:
    """GB of a machine's disk, as the template says."""
    (launch,) = [each for each in kept()["Resources"].values() if each["Type"] == "AWS::EC2::LaunchTemplate"]
    (mapping,) = launch["Properties"]["LaunchTemplateData"]["BlockDeviceMappings"]
    return int(mapping["Ebs"]["VolumeSize"])
