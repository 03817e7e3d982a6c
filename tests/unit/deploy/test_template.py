"""The committed template: what it must and must not say, and what it costs idle.

That it is what stack.py makes, and that cfn-lint has no objection, `make template-check` says (in `make check`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from agentic.stores.aws.layout import TTL, definition
from deploy import preflight
from deploy.aws_local.resources import MOST_RECEIPTS
from deploy.costs.__main__ import a_task, report
from deploy.costs.idle import LIMIT, TEMPLATE, Unpriced, idle, kept
from deploy.costs.sandboxes import PATTERNS, Pattern, Use, in_microvms, month_of, most_at_once, on_machines

Resource = dict[str, Any]
MADE_BY_NO_RESOURCE = {"ecr:GetAuthorizationToken", "ecs:DiscoverPollEndpoint"}
"""Actions that know no resource, so that AWS takes only `*` there."""


ROOT = TEMPLATE.parents[2]
ASKING = ("stores/aws*.py", "stores/aws/**/*.py", "doorbells/*.py")
MOVING = "maintenance"
"""What is asked by `threadwright export` and `import`, by whoever moves, and not by the bot."""
OPERATIONS = {
    "get_item": ["dynamodb:GetItem"], "put_item": ["dynamodb:PutItem"], "update_item": ["dynamodb:UpdateItem"],
    "delete_item": ["dynamodb:DeleteItem"], "query": ["dynamodb:Query"], "scan": ["dynamodb:Scan"],
    "batch_get_item": ["dynamodb:BatchGetItem"], "batch_write_item": ["dynamodb:BatchWriteItem"],
    "transact_write_items": [f"dynamodb:{name}" for name in ("PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")],
    "describe_table": ["dynamodb:DescribeTable"], "describe_time_to_live": ["dynamodb:DescribeTimeToLive"],
    "get_object": ["s3:GetObject", "s3:GetObjectVersion"], "put_object": ["s3:PutObject"],
    "delete_object": ["s3:DeleteObject"], "delete_objects": ["s3:DeleteObject", "s3:DeleteObjectVersion"],
    "list_objects_v2": ["s3:ListBucket"], "list_object_versions": ["s3:ListBucketVersions"],
    "get_bucket_versioning": ["s3:GetBucketVersioning"], "send_message": ["sqs:SendMessage"],
    "receive_message": ["sqs:ReceiveMessage"], "delete_message": ["sqs:DeleteMessage"],
    "change_message_visibility_batch": ["sqs:ChangeMessageVisibility"], "get_queue_attributes": ["sqs:GetQueueAttributes"],
    "get_bucket_lifecycle_configuration": ["s3:GetLifecycleConfiguration"], "get_queue_url": ["sqs:GetQueueUrl"],
    "create_multipart_upload": ["s3:PutObject"], "upload_part": ["s3:PutObject"],
    "complete_multipart_upload": ["s3:PutObject"], "abort_multipart_upload": ["s3:AbortMultipartUpload"],
    "list_queues": ["sqs:ListQueues"], "list_tables": ["dynamodb:ListTables"], "get_bucket_location": ["s3:GetBucketLocation"],
}  # fmt: skip
"""Operations of the SDK, with the rights that they need."""


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return kept()


@pytest.fixture(scope="module")
def resources(template: dict[str, Any]) -> dict[str, Resource]:
    return template["Resources"]


def of(resources: dict[str, Resource], kind: str) -> dict[str, Resource]:
    found = {name: each for name, each in resources.items() if each["Type"] == f"AWS::{kind}"}
    assert found, kind
    return found


def test_the_table_is_the_one_that_the_store_works_with(resources: dict[str, Resource]) -> None:
    (table,) = of(resources, "DynamoDB::Table").values()
    said = table["Properties"]
    wanted = definition("any")
    assert {key: said[key] for key in wanted if key != "TableName"} == {
        k: v for k, v in wanted.items() if k != "TableName"
    }
    assert said["TimeToLiveSpecification"] == {"AttributeName": TTL, "Enabled": True}
    assert said["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert said["DeletionProtectionEnabled"] is True
    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_the_bucket_is_versioned_private_and_kept(resources: dict[str, Resource]) -> None:
    (bucket,) = of(resources, "S3::Bucket").values()
    said = bucket["Properties"]
    assert said["VersioningConfiguration"] == {"Status": "Enabled"}
    assert set(said["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(said["PublicAccessBlockConfiguration"]) == 4
    (rule,) = said["LifecycleConfiguration"]["Rules"]
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}
    assert "ExpirationInDays" not in rule  # what counts now never goes by itself
    assert (bucket["DeletionPolicy"], bucket["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_nothing_is_told_without_tls(resources: dict[str, Resource]) -> None:
    guarded = [*of(resources, "S3::BucketPolicy").values(), *of(resources, "SQS::QueuePolicy").values()]
    assert len(guarded) == len(of(resources, "S3::Bucket")) + len(of(resources, "SQS::Queue"))
    for policy in guarded:
        denied = [s for s in statements(policy["Properties"]["PolicyDocument"]) if s["Effect"] == "Deny"]
        assert [s["Condition"] for s in denied] == [{"Bool": {"aws:SecureTransport": "false"}}]


def test_the_doorbell_is_a_standard_queue_with_a_place_for_what_nobody_can_take(resources: dict[str, Resource]) -> None:
    queues = of(resources, "SQS::Queue")
    assert not any(queue["Properties"].get("FifoQueue") for queue in queues.values())
    (doorbell,) = [queue["Properties"] for queue in queues.values() if "RedrivePolicy" in queue["Properties"]]
    assert doorbell["RedrivePolicy"]["maxReceiveCount"] == MOST_RECEIPTS, "as what the local AWS has"
    (dead,) = doorbell["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][:1]
    assert queues[dead]["Properties"]["MessageRetentionPeriod"] > doorbell["MessageRetentionPeriod"]
    assert doorbell["ReceiveMessageWaitTimeSeconds"] == 20  # asking all the time would be paid for


def test_nobody_can_reach_a_machine_and_it_reaches_aws_without_a_nat(resources: dict[str, Resource]) -> None:
    kinds = {each["Type"] for each in resources.values()}
    assert not kinds & {
        "AWS::EC2::NatGateway",
        "AWS::ElasticLoadBalancingV2::LoadBalancer",
        "AWS::SecretsManager::Secret",
    }
    (wall,) = of(resources, "EC2::SecurityGroup").values()
    assert not wall["Properties"].get("SecurityGroupIngress")
    assert {rule["FromPort"] for rule in wall["Properties"]["SecurityGroupEgress"]} == {22, 80, 443}
    assert "AWS::EC2::SecurityGroupIngress" not in kinds
    endpoints = of(resources, "EC2::VPCEndpoint").values()
    assert {each["Properties"]["VpcEndpointType"] for each in endpoints} == {"Gateway"}
    assert {joined(each["Properties"]["ServiceName"]).rpartition(".")[2] for each in endpoints} == {"dynamodb", "s3"}
    (launch,) = of(resources, "EC2::LaunchTemplate").values()
    data = launch["Properties"]["LaunchTemplateData"]
    assert data["MetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}
    assert all(mapping["Ebs"]["Encrypted"] for mapping in data["BlockDeviceMappings"])


def statements(document: dict[str, Any]) -> list[dict[str, Any]]:
    return document["Statement"]


def granted(resources: dict[str, Resource]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each statement of a role, with the role."""
    for name, role in of(resources, "IAM::Role").items():
        assert "ManagedPolicyArns" not in role["Properties"], name
        for policy in role["Properties"]["Policies"]:
            for statement in statements(policy["PolicyDocument"]):
                yield name, statement
    for name, policy in of(resources, "IAM::Policy").items():
        for statement in statements(policy["Properties"]["PolicyDocument"]):
            yield name, statement


def test_roles_may_what_they_need_on_what_is_theirs(resources: dict[str, Resource]) -> None:
    for name, statement in granted(resources):
        assert statement["Effect"] == "Allow"
        actions = statement["Action"]
        assert isinstance(actions, list), (name, actions)
        assert not [action for action in actions if "*" in action], name
        if "*" in statement["Resource"]:
            assert "Condition" in statement or set(actions) <= MADE_BY_NO_RESOURCE, (name, actions)
    may = {
        name: {action for role, s in granted(resources) if role == name for action in s["Action"]}
        for name, _ in granted(resources)
    }
    assert "sqs:ReceiveMessage" in may["WorkerRole"]
    assert "sqs:ReceiveMessage" not in may["GatewayRole"]
    assert not {
        action for actions in may.values() for action in actions if action.startswith("iam:") or "Scan" in action
    }
    assert may["StartingRole"] & {"ssm:GetParameters"}
    assert not (may["WorkerRole"] | may["GatewayRole"]) & {
        "ssm:GetParameters"
    }  # they get the secrets they need, and no way to more


def test_workers_may_all_that_the_store_and_the_doorbell_ask(resources: dict[str, Resource]) -> None:
    """By what stands in their sources: each name of an operation there has the right that AWS wants for it."""
    paths = [path for pattern in ASKING for path in sorted((ROOT / "agentic").glob(pattern))]
    text = "".join(path.read_text() for path in paths if path.parent.name != MOVING)
    asked = {name for name in OPERATIONS if re.search(rf"\b{name}\b", text)}
    assert {"get_item", "query", "put_object", "list_objects_v2", "get_bucket_versioning", "receive_message"} <= asked
    may = {action for role, s in granted(resources) if role == "WorkerRole" for action in s["Action"]}
    assert {right for name in asked for right in OPERATIONS[name]} - may == set()


def containers(resources: dict[str, Resource]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, task in of(resources, "ECS::TaskDefinition").items():
        for each in task["Properties"]["ContainerDefinitions"]:
            found[f"{name}/{each['Name']}"] = each
    return found


def test_the_bot_s_containers_can_change_nothing_and_the_engine_has_no_network(resources: dict[str, Resource]) -> None:
    every = containers(resources)
    assert set(every) == {"GatewayTask/threadwright", "WorkerTask/engine", "WorkerTask/threadwright"}
    for name, each in every.items():
        assert each["HealthCheck"]["Command"][0] == "CMD", name
        assert each["LogConfiguration"]["LogDriver"] == "awslogs"
        assert "PortMappings" not in each
        if name.endswith("/engine"):
            assert each["DisableNetworking"] is True
            continue
        assert each["ReadonlyRootFilesystem"] is True
        assert each.get("Privileged") is None
        assert each["LinuxParameters"]["Capabilities"]["Drop"] == ["ALL"]
        assert each["DockerSecurityOptions"] == ["no-new-privileges"]
    (waits,) = every["WorkerTask/threadwright"]["DependsOn"]
    assert waits == {"Condition": "HEALTHY", "ContainerName": "engine"}


def test_secrets_come_from_the_parameter_store_and_nowhere_else(
    template: dict[str, Any], resources: dict[str, Resource]
) -> None:
    for name, each in containers(resources).items():
        if name.endswith("/engine"):
            assert "Secrets" not in each
            continue
        told = {setting["Name"] for setting in each["Environment"]}
        assert not {setting for setting in told if re.search(r"KEY|TOKEN|SECRET", setting)}
        assert len(each["Secrets"]) == 2
    assert not [name for name, each in template["Parameters"].items() if "Token" in name or each.get("NoEcho")]


def test_what_people_would_notice_late_is_noticed(resources: dict[str, Resource]) -> None:
    alarms = {
        each["Properties"]["MetricName"]: each["Properties"] for each in of(resources, "CloudWatch::Alarm").values()
    }
    assert set(alarms) == {
        "ApproximateNumberOfMessagesVisible", "ReadThrottleEvents", "WriteThrottleEvents", "CPUUtilization",
    }  # fmt: skip
    waits = resources["DoorbellAlarm"][
        "Properties"
    ]  # a ring in flight is a thread that is worked on, however old it is
    assert waits["MetricName"] == "ApproximateNumberOfMessagesVisible"
    assert (waits["Statistic"], waits["Threshold"], waits["EvaluationPeriods"]) == ("Minimum", 0, 5)
    for alarm in of(resources, "CloudWatch::Alarm").values():
        assert alarm["Properties"]["AlarmActions"]
        assert alarm["Properties"]["AlarmDescription"]
    for log in of(resources, "Logs::LogGroup").values():
        assert log["Properties"]["RetentionInDays"] == {"Ref": "LogDays"}


def test_it_is_deployed_without_a_bootstrap(template: dict[str, Any]) -> None:
    text = TEMPLATE.read_text()
    assert len(text.encode()) <= preflight.LARGEST_TEMPLATE
    assert "BootstrapVersion" not in template["Parameters"]
    assert "cdk-" not in text


def test_the_preflight_looks_for_the_names_that_the_template_gives(
    template: dict[str, Any], resources: dict[str, Resource]
) -> None:
    names = {
        joined(each["Properties"][key]).replace("AWS::StackName", "threadwright")
        for kind, key in (
            ("DynamoDB::Table", "TableName"),
            ("SQS::Queue", "QueueName"),
            ("Logs::LogGroup", "LogGroupName"),
        )
        for each in of(resources, kind).values()
    }
    assert names == {
        "threadwright-executions", "threadwright-doorbell", "threadwright-doorbell-dead", "threadwright-events",
        "/threadwright/gateway", "/threadwright/worker",
    }  # fmt: skip
    parameters = template["Parameters"]
    assert parameters["ModelKey"]["AllowedValues"] == list(preflight.KEYS)
    assert parameters["ParameterPath"]["Default"] == preflight.PARAMETERS
    assert parameters["InstanceType"]["Default"] == preflight.MACHINE


def joined(value: Any) -> str:
    """A string that CloudFormation joins, with the names of what it refers to."""
    if isinstance(value, str):
        return value
    if "Ref" in value:
        return str(value["Ref"])
    between, parts = value["Fn::Join"]
    return between.join(joined(part) for part in parts)


def test_idle_it_costs_under_the_limit(template: dict[str, Any]) -> None:
    bill = idle(template)
    assert 5 < sum(line.usd for line in bill) < LIMIT
    nat = {"Type": "AWS::EC2::NatGateway", "Properties": {}}
    with_nat = {"Resources": {**template["Resources"], "Nat": nat}}
    assert sum(line.usd for line in idle(with_nat)) > LIMIT
    with pytest.raises(Unpriced, match="knows no price"):
        idle({"Resources": {"New": {"Type": "AWS::MSK::Cluster"}}})
    assert a_task() < 0.002
    assert "in all" in report()


def test_sandboxes_are_priced_by_when_they_are_needed() -> None:
    uses = [Use(0, 100), Use(50, 150), Use(300, 400, waited=200)]
    assert most_at_once(uses, 0) == 2
    assert most_at_once(uses, 1000) == 3
    assert month_of(PATTERNS[0], 1) == month_of(PATTERNS[0], 1)
    few, many = (month_of(Pattern("", tasks, evenly=True), 1) for tasks in (2, 3000))
    assert in_microvms(few) < on_machines(few)
    assert in_microvms(many) > on_machines(many)
