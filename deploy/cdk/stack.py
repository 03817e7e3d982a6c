"""What Threadwright needs on AWS, and nothing that costs while nobody talks to it beyond a few dollars.

Names follow the stack's, so that people find things; the pre-flight looks whether they are free.  Whatever holds data stays
when the stack is deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import (
    Aws,
    CfnAutoScalingRollingUpdate,
    CfnCondition,
    CfnOutput,
    CfnParameter,
    CfnTag,
    CfnUpdatePolicy,
    Duration,
    Fn,
    RemovalPolicy,
    Stack,
)
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

HOME, RUN, ENGINE_DATA = "/var/lib/threadwright", "/run/threadwright", "/var/lib/docker"
PROVIDER_KEYS = (
    "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY",
    "DEEPSEEK_API_KEY", "XAI_API_KEY",
)  # fmt: skip
INDEXES = (("gsi1", "waits", "waits_at"), ("gsi2", "listed", "listed_at"))
"""Sparse indexes of the table with their keys (docs/decisions/0075)."""
MINUTES_UNANSWERED = 5
"""How long people may wait before somebody is told."""

READ_ITEMS = ("BatchGetItem", "ConditionCheckItem", "DescribeTable", "DescribeTimeToLive", "GetItem", "Query")
OBJECTS = (
    "AbortMultipartUpload", "DeleteObject", "DeleteObjectVersion", "GetObject", "GetObjectVersion", "PutObject",
)  # fmt: skip
AGENT = (
    "Poll", "StartTelemetrySession", "SubmitAttachmentStateChanges", "SubmitContainerStateChange", "SubmitTaskStateChange",
    "UpdateContainerInstancesState",
)  # fmt: skip
"""What the agent of a machine says to its cluster."""
WRITE_ITEMS = ("BatchWriteItem", "DeleteItem", "PutItem", "UpdateItem")


class ThreadwrightStack(Stack):
    """The table, the queues, the bucket; a network without inbound ways; machines, and on them gateway and workers."""

    def __init__(self, scope: Construct, name: str, **about: Any) -> None:
        super().__init__(scope, name, **about)
        self._asked()
        self._kept()
        network = self._network()
        self._machines(network)
        self._processes()
        self._watched()
        self._told()

    # --- what a person says ---------------------------------------------------------------------------------------

    def _asked(self) -> None:
        self.image = self._parameter(
            "Image", "The bot's image by its digest: ACCOUNT.dkr.ecr.REGION.amazonaws.com/threadwright@sha256:…"
        )
        self.engine_image = self._parameter("EngineImage", "The image of the sandboxes' engine, by its digest")
        self.model_key = self._parameter(
            "ModelKey", "The setting of the provider's key, which lies in Parameter Store under ParameterPath",
            default=PROVIDER_KEYS[0], allowed_values=list(PROVIDER_KEYS),
        )  # fmt: skip
        self.parameter_path = self._parameter(
            "ParameterPath", "Where Parameter Store has DISCORD_TOKEN and the model's key, as SecureString",
            default="/threadwright", allowed_pattern="(/[A-Za-z0-9_.-]+)+",
        )  # fmt: skip
        self.settings_file = self._parameter(
            "SettingsFile", "ARN of an object in S3 with further settings, NAME=value a line; empty: none", default=""
        )
        self.instance_type = self._parameter(
            "InstanceType", "The machines; sandboxes need the memory", default="t3.medium"
        )
        self.machine_image = CfnParameter(
            self, "MachineImage", type="AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>",
            default="/aws/service/ecs/optimized-ami/amazon-linux-2023/recommended/image_id",
            description="Amazon's image for machines of ECS; the -arm64 one for Graviton",
        )  # fmt: skip
        self.machines = self._number("Machines", "How many machines", 1, least=1, most=50)
        self.gateways = self._number(
            "Gateways", "How many gateways; one serves up to 2,500 servers", 1, least=0, most=20
        )
        self.workers = self._number("Workers", "How many workers", 1, least=0, most=100)
        self.log_days = CfnParameter(
            self, "LogDays", type="Number", default="30", allowed_values=["7", "14", "30", "90", "365"],
            description="Days that logs are kept",
        )  # fmt: skip
        self.mail = self._parameter("AlarmMail", "Who gets the alarms by mail; empty: nobody", default="")
        self.other_table = self._parameter(
            "OtherTable",
            "A table to work with instead of the stack's: one that was restored; empty: the stack's",
            default="",
        )
        self.has_other_table = self._said("HasOtherTable", self.other_table)
        self.has_mail = self._said("HasMail", self.mail)
        self.has_settings = self._said("HasSettings", self.settings_file)

    def _parameter(self, name: str, about: str, **more: Any) -> CfnParameter:
        return CfnParameter(self, name, type="String", description=about, **more)

    def _number(self, name: str, about: str, default: int, *, least: int, most: int) -> CfnParameter:
        return CfnParameter(
            self, name, type="Number", description=about, default=default, min_value=least, max_value=most
        )

    def _said(self, name: str, parameter: CfnParameter) -> CfnCondition:
        empty = Fn.condition_equals(parameter.value_as_string, "")
        return CfnCondition(self, name, expression=Fn.condition_not(empty))

    # --- what is kept ---------------------------------------------------------------------------------------------

    def _kept(self) -> None:
        self.table = dynamodb.CfnTable(
            self, "Table",
            table_name=f"{Aws.STACK_NAME}-executions",
            billing_mode="PAY_PER_REQUEST",
            attribute_definitions=[
                dynamodb.CfnTable.AttributeDefinitionProperty(attribute_name=key, attribute_type="S")
                for key in ("pk", "sk", *(key for _, *keys in INDEXES for key in keys))
            ],
            key_schema=_keys("pk", "sk"),
            global_secondary_indexes=[
                dynamodb.CfnTable.GlobalSecondaryIndexProperty(
                    index_name=name, key_schema=_keys(partition, sort),
                    projection=dynamodb.CfnTable.ProjectionProperty(projection_type="KEYS_ONLY"),
                )
                for name, partition, sort in INDEXES
            ],
            point_in_time_recovery_specification=dynamodb.CfnTable.PointInTimeRecoverySpecificationProperty(
                point_in_time_recovery_enabled=True
            ),
            time_to_live_specification=dynamodb.CfnTable.TimeToLiveSpecificationProperty(
                attribute_name="ttl", enabled=True
            ),
            deletion_protection_enabled=True,
            sse_specification=dynamodb.CfnTable.SSESpecificationProperty(sse_enabled=False),  # Amazon's own key: free
        )  # fmt: skip
        self.table.apply_removal_policy(RemovalPolicy.RETAIN)
        other = self.other_table.value_as_string
        self.table_name = self._if(self.has_other_table, other, self.table.ref)
        elsewhere = f"arn:{Aws.PARTITION}:dynamodb:{Aws.REGION}:{Aws.ACCOUNT_ID}:table/{other}"
        self.table_arn = self._if(self.has_other_table, elsewhere, self.table.attr_arn)
        self.bucket = s3.Bucket(
            self, "Bucket",
            bucket_name=f"{Aws.STACK_NAME}-artifacts-{Aws.ACCOUNT_ID}-{Aws.REGION}",
            versioned=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.RETAIN,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="versions",
                    noncurrent_version_expiration=Duration.days(30),
                    expired_object_delete_marker=True,
                    abort_incomplete_multipart_upload_after=Duration.days(7),
                )
            ],
        )  # fmt: skip
        self.dead = self._queue("DeadLetters", "doorbell-dead", retention=Duration.days(14))
        self.doorbell = self._queue(
            "Doorbell", "doorbell", retention=Duration.days(1), visibility=Duration.seconds(60),
            dead=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=10),
        )  # fmt: skip
        self.events = self._queue("Events", "events", retention=Duration.days(4))

    def _if(self, condition: CfnCondition, then: str, otherwise: str) -> str:
        return Fn.condition_if(condition.logical_id, then, otherwise).to_string()

    def _queue(
        self,
        name: str,
        called: str,
        *,
        retention: Duration,
        visibility: Duration | None = None,
        dead: sqs.DeadLetterQueue | None = None,
    ) -> sqs.Queue:
        return sqs.Queue(
            self, name, queue_name=f"{Aws.STACK_NAME}-{called}", retention_period=retention,
            visibility_timeout=visibility, dead_letter_queue=dead, receive_message_wait_time=Duration.seconds(20),
            encryption=sqs.QueueEncryption.SQS_MANAGED, enforce_ssl=True, removal_policy=RemovalPolicy.DESTROY,
        )  # fmt: skip

    # --- where it runs --------------------------------------------------------------------------------------------

    def _network(self) -> tuple[ec2.CfnSecurityGroup, list[ec2.CfnSubnet]]:
        """Public subnets whose machines nobody can reach: an address each costs a tenth of a NAT gateway."""
        vpc = ec2.CfnVPC(
            self, "Network", cidr_block="10.42.0.0/16", enable_dns_hostnames=True, enable_dns_support=True,
            tags=[CfnTag(key="Name", value=Aws.STACK_NAME)],
        )  # fmt: skip
        way = ec2.CfnInternetGateway(self, "InternetGateway")
        attached = ec2.CfnVPCGatewayAttachment(
            self, "InternetGatewayAttachment", vpc_id=vpc.ref, internet_gateway_id=way.ref
        )
        routes = ec2.CfnRouteTable(self, "Routes", vpc_id=vpc.ref)
        out = ec2.CfnRoute(
            self, "RouteOut", route_table_id=routes.ref, destination_cidr_block="0.0.0.0/0", gateway_id=way.ref
        )
        out.add_resource_dependency(attached)
        subnets: list[ec2.CfnSubnet] = []
        for number in (0, 1):
            subnet = ec2.CfnSubnet(
                self, f"Subnet{number + 1}", vpc_id=vpc.ref, cidr_block=f"10.42.{number}.0/24",
                availability_zone=Fn.select(number, Fn.get_azs()), map_public_ip_on_launch=True,
            )  # fmt: skip
            ec2.CfnSubnetRouteTableAssociation(
                self, f"Subnet{number + 1}Routes", subnet_id=subnet.ref, route_table_id=routes.ref
            )
            subnets.append(subnet)
        for name, service in (("TableEndpoint", "dynamodb"), ("BucketEndpoint", "s3")):  # these two kinds are free
            ec2.CfnVPCEndpoint(
                self, name, vpc_id=vpc.ref, vpc_endpoint_type="Gateway", route_table_ids=[routes.ref],
                service_name=f"com.amazonaws.{Aws.REGION}.{service}",
            )  # fmt: skip
        wall = ec2.CfnSecurityGroup(
            self, "Wall", vpc_id=vpc.ref, group_description="Nothing comes in; the web and git over SSH go out",
            security_group_ingress=[],
            security_group_egress=[
                ec2.CfnSecurityGroup.EgressProperty(
                    ip_protocol="tcp", from_port=port, to_port=port, cidr_ip="0.0.0.0/0", description=why
                )
                for port, why in ((443, "HTTPS"), (80, "package indexes"), (22, "git over SSH"))
            ],
        )  # fmt: skip
        return wall, subnets

    def _machines(self, network: tuple[ec2.CfnSecurityGroup, Sequence[ec2.CfnSubnet]]) -> None:
        wall, subnets = network
        self.cluster = ecs.CfnCluster(self, "Cluster", cluster_name=Aws.STACK_NAME)
        agent = _policy(
            "agent",
            _allow(["ecs:RegisterContainerInstance", "ecs:DeregisterContainerInstance"], [self.cluster.attr_arn]),
            _allow([f"ecs:{each}" for each in AGENT], ["*"], {"ArnEquals": {"ecs:cluster": self.cluster.attr_arn}}),
            _allow(["ecs:DiscoverPollEndpoint"], ["*"]),  # it knows no resources
        )
        assumed = _assumed_by("ec2.amazonaws.com")
        role = iam.CfnRole(self, "MachineRole", assume_role_policy_document=assumed, policies=[agent])
        profile = iam.CfnInstanceProfile(self, "MachineProfile", roles=[role.ref])
        settings = (
            f"ECS_CLUSTER={Aws.STACK_NAME}", "ECS_CONTAINER_STOP_TIMEOUT=90s", "ECS_ENGINE_TASK_CLEANUP_WAIT_DURATION=10m",
            "ECS_IMAGE_CLEANUP_INTERVAL=30m", "ECS_ENABLE_TASK_IAM_ROLE=true",
        )  # fmt: skip
        begun = "\n".join(("#!/bin/bash", "cat >>/etc/ecs/ecs.config <<'END'", *settings, "END"))
        launch = ec2.CfnLaunchTemplate(
            self, "MachineTemplate",
            launch_template_data=ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
                image_id=self.machine_image.value_as_string,
                instance_type=self.instance_type.value_as_string,
                iam_instance_profile=ec2.CfnLaunchTemplate.IamInstanceProfileProperty(arn=profile.attr_arn),
                # A container is a hop further than its machine: it cannot take the machine's rights.
                metadata_options=ec2.CfnLaunchTemplate.MetadataOptionsProperty(
                    http_tokens="required", http_put_response_hop_limit=1
                ),
                network_interfaces=[
                    ec2.CfnLaunchTemplate.NetworkInterfaceProperty(
                        device_index=0, associate_public_ip_address=True, groups=[wall.attr_group_id]
                    )
                ],
                block_device_mappings=[
                    ec2.CfnLaunchTemplate.BlockDeviceMappingProperty(
                        device_name="/dev/xvda",
                        ebs=ec2.CfnLaunchTemplate.EbsProperty(volume_size=40, volume_type="gp3", encrypted=True),
                    )
                ],
                user_data=Fn.base64(begun),
            ),
        )  # fmt: skip
        group = autoscaling.CfnAutoScalingGroup(
            self, "MachineGroup", min_size="0", max_size="50",
            desired_capacity=self.machines.value_as_string,
            vpc_zone_identifier=[subnet.ref for subnet in subnets],
            launch_template=autoscaling.CfnAutoScalingGroup.LaunchTemplateSpecificationProperty(
                launch_template_id=launch.ref, version=launch.attr_latest_version_number
            ),
            tags=[autoscaling.CfnAutoScalingGroup.TagPropertyProperty(
                key="Name", value=Aws.STACK_NAME, propagate_at_launch=True
            )],
        )  # fmt: skip
        group.cfn_options.update_policy = CfnUpdatePolicy(
            auto_scaling_rolling_update=CfnAutoScalingRollingUpdate(max_batch_size=1, min_instances_in_service=0)
        )
        # The number of machines is chosen by a person; tasks of one that goes are moved off it first, at no cost.
        self.capacity = ecs.CfnCapacityProvider(
            self, "Capacity",
            auto_scaling_group_provider=ecs.CfnCapacityProvider.AutoScalingGroupProviderProperty(
                auto_scaling_group_arn=group.ref,
                managed_draining="ENABLED",
                managed_scaling=ecs.CfnCapacityProvider.ManagedScalingProperty(status="DISABLED"),
                managed_termination_protection="DISABLED",
            ),
        )  # fmt: skip
        self.capacities = ecs.CfnClusterCapacityProviderAssociations(
            self, "Capacities", cluster=self.cluster.ref, capacity_providers=[self.capacity.ref],
            default_capacity_provider_strategy=[],
        )  # fmt: skip

    # --- what runs ------------------------------------------------------------------------------------------------

    def _processes(self) -> None:
        self.log_groups = {
            name: logs.CfnLogGroup(
                self, f"{name.title()}Logs", log_group_name=f"/{Aws.STACK_NAME}/{name}",
                retention_in_days=self.log_days.value_as_number,
            )
            for name in ("gateway", "worker")
        }  # fmt: skip
        starts = self._starting_role()
        bot = self._container("gateway", ["gateway"], memory=256)
        gateway = self._task("gateway", starts, [bot], self._gateway_rights(), memory_of={"home": HOME})
        worker = self._task(
            "worker", starts, [self._engine(), self._container("worker", ["worker"], memory=512, engine=True)],
            self._worker_rights(), memory_of={"home": HOME, "run": RUN, "engine": ENGINE_DATA},
        )  # fmt: skip
        self.services = {
            "gateway": self._service("gateway", gateway, self.gateways),
            "worker": self._service("worker", worker, self.workers),
        }

    def _starting_role(self) -> iam.CfnRole:
        """What the machine's agent may, to start a task: fetch images and secrets, write logs."""
        here = f"{Aws.REGION}:{Aws.ACCOUNT_ID}"
        prefix = self.parameter_path.value_as_string
        secrets = [f"arn:{Aws.PARTITION}:ssm:{here}:parameter{prefix}/{name}" for name in self._secrets()]
        images = [f"arn:{Aws.PARTITION}:ecr:{here}:repository/threadwright{rest}" for rest in ("", "-engine")]
        role = iam.CfnRole(
            self, "StartingRole", assume_role_policy_document=_assumed_by("ecs-tasks.amazonaws.com"),
            policies=[
                _policy(
                    "start",
                    _allow(["ecr:GetAuthorizationToken"], ["*"]),  # it knows no resources
                    _allow(["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"], images),
                    _allow(["ssm:GetParameters"], secrets),
                    _allow(
                        ["logs:CreateLogStream", "logs:PutLogEvents"],
                        [group.attr_arn for group in self.log_groups.values()],
                    ),
                )
            ],
        )  # fmt: skip
        settings = iam.CfnPolicy(
            self, "SettingsPolicy", policy_name="settings", roles=[role.ref],
            policy_document=_document(
                _allow(["s3:GetObject"], [self.settings_file.value_as_string]),
                _allow(["s3:GetBucketLocation"], [Fn.select(0, Fn.split("/", self.settings_file.value_as_string))]),
            ),
        )  # fmt: skip
        settings.cfn_options.condition = self.has_settings
        return role

    def _secrets(self) -> tuple[str, str]:
        return "DISCORD_TOKEN", self.model_key.value_as_string

    def _gateway_rights(self) -> list[dict[str, object]]:
        """It takes in what people say: rows, their files, a ring of the doorbell."""
        return [
            *self._table_rights(),
            _allow([f"s3:{each}" for each in OBJECTS], [self.bucket.arn_for_objects("*")]),
            _allow(["s3:GetBucketVersioning", "s3:ListBucket", "s3:ListBucketVersions"], [self.bucket.bucket_arn]),
            _allow(["sqs:GetQueueAttributes", "sqs:SendMessage"], [self.doorbell.queue_arn, self.events.queue_arn]),
        ]

    def _worker_rights(self) -> list[dict[str, object]]:
        """It also hears the doorbell."""
        heard = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"]
        return [*self._gateway_rights(), _allow(heard, [self.doorbell.queue_arn])]

    def _table_rights(self) -> list[dict[str, object]]:
        table = self.table_arn
        return [
            _allow([f"dynamodb:{each}" for each in (*READ_ITEMS, *WRITE_ITEMS)], [table]),
            _allow(["dynamodb:Query"], [f"{table}/index/{name}" for name, *_ in INDEXES]),
        ]

    def _container(
        self, name: str, command: list[str], *, memory: int, engine: bool = False
    ) -> ecs.CfnTaskDefinition.ContainerDefinitionProperty:
        """The bot's image, which can change nothing of itself and has no rights of root's."""
        prefix, [token, key] = self.parameter_path.value_as_string, self._secrets()
        settings = {
            "THREADWRIGHT_STORE": "aws",
            "DYNAMODB_EXECUTIONS_TABLE": self.table_name,
            "S3_ARTIFACT_BUCKET": self.bucket.bucket_name,
            "AGENTIC_DOORBELL_QUEUE_URL": self.doorbell.queue_url,
            "AGENTIC_EVENTS_QUEUE_URL": self.events.queue_url,
            "AWS_REGION": Aws.REGION,
            "THREADWRIGHT_LOG_FORMAT": "json",
            "THREADWRIGHT_SANDBOX": "docker",
        }
        mounts = {"home": HOME, **({"run": RUN} if engine else {})}
        return ecs.CfnTaskDefinition.ContainerDefinitionProperty(
            name="threadwright",
            image=self.image.value_as_string,
            command=command,
            essential=True,
            memory_reservation=memory,
            readonly_root_filesystem=True,
            linux_parameters=ecs.CfnTaskDefinition.LinuxParametersProperty(
                init_process_enabled=True,
                capabilities=ecs.CfnTaskDefinition.KernelCapabilitiesProperty(drop=["ALL"]),
                tmpfs=[ecs.CfnTaskDefinition.TmpfsProperty(container_path="/tmp", size=512, mount_options=["mode=1777"])],  # noqa: S108
            ),
            docker_security_options=["no-new-privileges"],
            stop_timeout=60,
            health_check=_health(["CMD", "threadwright", "health", "--live"], start=90),
            depends_on=[
                ecs.CfnTaskDefinition.ContainerDependencyProperty(container_name="engine", condition="HEALTHY")
            ] if engine else None,
            environment=[
                ecs.CfnTaskDefinition.KeyValuePairProperty(name=setting, value=value)
                for setting, value in settings.items()
            ],
            environment_files=Fn.condition_if(
                self.has_settings.logical_id, [{"Type": "s3", "Value": self.settings_file.value_as_string}], Aws.NO_VALUE
            ),
            secrets=[
                ecs.CfnTaskDefinition.SecretProperty(name=each, value_from=f"{prefix}/{each}") for each in (token, key)
            ],
            mount_points=_mounts(mounts),
            log_configuration=self._log_to(name),
        )  # fmt: skip

    def _engine(self) -> ecs.CfnTaskDefinition.ContainerDefinitionProperty:
        """The sandboxes' engine. ECS has no word for its seccomp profile but ``privileged``; so the machine is its wall."""
        return ecs.CfnTaskDefinition.ContainerDefinitionProperty(
            name="engine",
            image=self.engine_image.value_as_string,
            essential=True,
            privileged=True,
            disable_networking=True,
            memory_reservation=1024,
            stop_timeout=60,
            health_check=_health(
                [
                    "CMD",
                    "docker",
                    "-H",
                    f"unix://{RUN}/engine.sock",
                    "image",
                    "inspect",
                    "-f",
                    "ok",
                    "threadwright-sandbox:local",
                ],
                start=120,
            ),
            mount_points=_mounts({"home": HOME, "run": RUN, "engine": ENGINE_DATA}),
            log_configuration=self._log_to("worker"),
        )

    def _log_to(self, name: str) -> ecs.CfnTaskDefinition.LogConfigurationProperty:
        options = {
            "awslogs-group": self.log_groups[name].ref, "awslogs-region": Aws.REGION, "awslogs-stream-prefix": name,
            "mode": "non-blocking", "max-buffer-size": "4m",
        }  # fmt: skip
        return ecs.CfnTaskDefinition.LogConfigurationProperty(log_driver="awslogs", options=options)

    def _task(
        self,
        name: str,
        starts: iam.CfnRole,
        containers: Sequence[ecs.CfnTaskDefinition.ContainerDefinitionProperty],
        rights: Sequence[Mapping[str, object]],
        *,
        memory_of: Mapping[str, str],
    ) -> ecs.CfnTaskDefinition:
        role = iam.CfnRole(
            self, f"{name.title()}Role", assume_role_policy_document=_assumed_by("ecs-tasks.amazonaws.com"),
            policies=[_policy(name, *rights)],
        )  # fmt: skip
        return ecs.CfnTaskDefinition(
            self, f"{name.title()}Task",
            family=f"{Aws.STACK_NAME}-{name}",
            network_mode="bridge",
            requires_compatibilities=["EC2"],
            execution_role_arn=starts.attr_arn,
            task_role_arn=role.attr_arn,
            container_definitions=list(containers),
            # A folder of the task's own, gone with it: what must last is in the table and the bucket.
            volumes=[
                ecs.CfnTaskDefinition.VolumeProperty(
                    name=volume,
                    docker_volume_configuration=ecs.CfnTaskDefinition.DockerVolumeConfigurationProperty(
                        scope="task", driver="local"
                    ),
                )
                for volume in memory_of
            ],
        )  # fmt: skip

    def _service(self, name: str, task: ecs.CfnTaskDefinition, count: CfnParameter) -> ecs.CfnService:
        service = ecs.CfnService(
            self, f"{name.title()}Service",
            service_name=name,
            cluster=self.cluster.ref,
            task_definition=task.ref,
            desired_count=count.value_as_number,
            capacity_provider_strategy=[
                ecs.CfnService.CapacityProviderStrategyItemProperty(capacity_provider=self.capacity.ref, weight=1)
            ],
            # The old ones end before the new ones begin: a machine need not have room for both, and what people say meanwhile
            # is read afterwards.
            deployment_configuration=ecs.CfnService.DeploymentConfigurationProperty(
                minimum_healthy_percent=0, maximum_percent=100,
                deployment_circuit_breaker=ecs.CfnService.DeploymentCircuitBreakerProperty(enable=True, rollback=True),
            ),
            placement_strategies=[
                ecs.CfnService.PlacementStrategyProperty(type="spread", field="attribute:ecs.availability-zone"),
                ecs.CfnService.PlacementStrategyProperty(type="spread", field="instanceId"),
            ],
            propagate_tags="SERVICE",
        )  # fmt: skip
        service.add_resource_dependency(self.capacities)
        return service

    # --- what is noticed ------------------------------------------------------------------------------------------

    def _watched(self) -> None:
        topic = sns.CfnTopic(self, "Alarms", topic_name=f"{Aws.STACK_NAME}-alarms")
        mail = sns.CfnSubscription(
            self, "AlarmsByMail", topic_arn=topic.ref, protocol="email", endpoint=self.mail.value_as_string
        )
        mail.cfn_options.condition = self.has_mail
        sns.CfnTopicPolicy(
            self, "AlarmsPolicy", topics=[topic.ref],
            policy_document=_document(
                {
                    "Effect": "Allow",
                    "Principal": {"Service": ["cloudwatch.amazonaws.com", "events.amazonaws.com"]},
                    "Action": "sns:Publish", "Resource": topic.ref,
                    "Condition": {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
                }
            ),
        )  # fmt: skip
        dead, doorbell = {"QueueName": self.dead.queue_name}, {"QueueName": self.doorbell.queue_name}
        self._alarm(
            topic, "DeadLettersAlarm", "A thread was rung ten times and no worker could take it: read the dead-letter queue",
            "AWS/SQS", "ApproximateNumberOfMessagesVisible", dead, "Maximum", above=0,
        )  # fmt: skip
        # Not by the age of the oldest ring: one stays in flight for as long as its thread is worked on.
        self._alarm(
            topic, "DoorbellAlarm", "People wait: for five minutes there was always a ring that no worker took",
            "AWS/SQS", "ApproximateNumberOfMessagesVisible", doorbell, "Minimum", above=0, minutes=MINUTES_UNANSWERED,
        )  # fmt: skip
        for kind in ("Read", "Write"):
            self._alarm(
                topic, f"{kind}ThrottleAlarm", f"The table refuses to {kind.lower()}: more is asked of it than it grew to",
                "AWS/DynamoDB", f"{kind}ThrottleEvents", {"TableName": self.table_name}, "Sum", above=0,
            )  # fmt: skip
        for name, service in self.services.items():
            # Each running task reports once a minute; no report is no task.
            dimensions = {"ClusterName": self.cluster.ref, "ServiceName": service.attr_name}
            self._alarm(
                topic, f"{name.title()}Alarm", f"No {name} runs: look into its log and the service's events",
                "AWS/ECS", "CPUUtilization", dimensions, "SampleCount", below=1, minutes=5,
            )  # fmt: skip
        events.CfnRule(
            self, "TroubleOfServices", description="ECS cannot start a task, or took a deployment back",
            event_pattern={
                "source": ["aws.ecs"],
                "detail-type": ["ECS Service Action", "ECS Deployment State Change"],
                "detail": {"eventType": ["ERROR"]},
                "resources": [{"prefix": f"arn:{Aws.PARTITION}:ecs:{Aws.REGION}:{Aws.ACCOUNT_ID}:service/{Aws.STACK_NAME}/"}],
            },
            targets=[events.CfnRule.TargetProperty(arn=topic.ref, id="alarms")],
        )  # fmt: skip

    def _alarm(
        self,
        topic: sns.CfnTopic,
        name: str,
        about: str,
        namespace: str,
        metric: str,
        dimensions: Mapping[str, str],
        statistic: str,
        *,
        above: int | None = None,
        below: int | None = None,
        minutes: int = 1,
    ) -> None:
        missing_is_bad = below is not None
        cloudwatch.CfnAlarm(
            self, name, alarm_description=about, namespace=namespace, metric_name=metric, statistic=statistic, period=60,
            dimensions=[cloudwatch.CfnAlarm.DimensionProperty(name=key, value=value) for key, value in dimensions.items()],
            evaluation_periods=minutes,
            threshold=below if above is None else above,
            comparison_operator="LessThanThreshold" if missing_is_bad else "GreaterThanThreshold",
            treat_missing_data="breaching" if missing_is_bad else "notBreaching",
            alarm_actions=[topic.ref], ok_actions=[topic.ref],
        )  # fmt: skip

    def _told(self) -> None:
        for name, value in {
            "TableName": self.table_name, "BucketName": self.bucket.bucket_name, "DoorbellUrl": self.doorbell.queue_url,
            "EventsUrl": self.events.queue_url, "DeadLettersUrl": self.dead.queue_url, "ClusterName": self.cluster.ref,
        }.items():  # fmt: skip
            CfnOutput(self, name, value=value)


def _keys(partition: str, sort: str) -> list[dynamodb.CfnTable.KeySchemaProperty]:
    return [
        dynamodb.CfnTable.KeySchemaProperty(attribute_name=name, key_type=kind)
        for name, kind in ((partition, "HASH"), (sort, "RANGE"))
    ]


def _allow(
    actions: Sequence[str], resources: Sequence[str], condition: Mapping[str, object] | None = None
) -> dict[str, object]:
    rest = {"Condition": condition} if condition else {}
    return {"Effect": "Allow", "Action": list(actions), "Resource": list(resources), **rest}


def _document(*statements: Mapping[str, object]) -> dict[str, object]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _policy(name: str, *statements: Mapping[str, object]) -> iam.CfnRole.PolicyProperty:
    return iam.CfnRole.PolicyProperty(policy_name=name, policy_document=_document(*statements))


def _assumed_by(service: str) -> dict[str, object]:
    return _document({"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"})


def _health(command: list[str], *, start: int) -> ecs.CfnTaskDefinition.HealthCheckProperty:
    return ecs.CfnTaskDefinition.HealthCheckProperty(
        command=command, interval=30, timeout=10, retries=3, start_period=start
    )


def _mounts(places: Mapping[str, str]) -> list[ecs.CfnTaskDefinition.MountPointProperty]:
    return [
        ecs.CfnTaskDefinition.MountPointProperty(source_volume=name, container_path=path, read_only=False)
        for name, path in places.items()
    ]
