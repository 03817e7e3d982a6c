"""What the bucket has to do."""

from __future__ import annotations

import base64
import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from botocore.exceptions import ClientError

from tests.aws.conformance.account import Account, refused

MB = 1024 * 1024


def _put(aws: Account, key: str, body: bytes, **more: Any) -> dict[str, Any]:
    return aws.s3.put_object(Bucket=aws.bucket, Key=key, Body=body, **more)


def _read(aws: Account, key: str, **more: Any) -> bytes:
    return aws.s3.get_object(Bucket=aws.bucket, Key=key, **more)["Body"].read()


def a_write_is_seen_at_once(aws: Account) -> None:
    """By a read and by a list, also when it overwrites."""
    key = f"{aws.fresh()}/a"
    for number in range(10):
        _put(aws, key, str(number).encode())
        assert _read(aws, key) == str(number).encode()
        assert aws.s3.list_objects_v2(Bucket=aws.bucket, Prefix=key)["KeyCount"] == 1


def earlier_versions_can_be_read(aws: Account) -> None:
    """By their ids, newest first in the list; a deleted object has a marker and all its versions."""
    key = f"{aws.fresh()}/a"
    ids = [_put(aws, key, body)["VersionId"] for body in (b"one", b"two")]
    aws.s3.delete_object(Bucket=aws.bucket, Key=key)
    refused("NoSuchKey", lambda: _read(aws, key))
    assert [_read(aws, key, VersionId=id) for id in ids] == [b"one", b"two"]
    listed = aws.s3.list_object_versions(Bucket=aws.bucket, Prefix=key)
    assert [each["VersionId"] for each in listed["Versions"]] == ids[::-1]
    (marker,) = listed["DeleteMarkers"]
    aws.s3.delete_object(Bucket=aws.bucket, Key=key, VersionId=marker["VersionId"])
    assert _read(aws, key) == b"two", "without its marker it is there again"


def a_put_if_absent_is_taken_once(aws: Account) -> None:
    """If-None-Match: * is refused where the object is there."""
    key = f"{aws.fresh()}/a"
    _put(aws, key, b"one", IfNoneMatch="*")
    refused("PreconditionFailed", lambda: _put(aws, key, b"two", IfNoneMatch="*"))
    assert _read(aws, key) == b"one"


def a_manifest_is_swapped_by_its_etag(aws: Account) -> None:
    """If-Match takes the tag that was read, refuses an older one, and knows what is missing."""
    key = f"{aws.fresh()}/manifest"
    first = _put(aws, key, b"one")["ETag"]
    second = _put(aws, key, b"two", IfMatch=first)["ETag"]
    assert second != first
    refused("PreconditionFailed", lambda: _put(aws, key, b"three", IfMatch=first))
    assert _read(aws, key) == b"two"
    refused("NoSuchKey|PreconditionFailed", lambda: _put(aws, f"{key}-not", b"x", IfMatch=first))


def of_several_swaps_one_is_taken(aws: Account) -> None:
    """Concurrent If-Match with the same tag."""
    key = f"{aws.fresh()}/manifest"
    tag = _put(aws, key, b"before")["ETag"]

    def swap(number: int) -> bool:
        try:
            _put(aws, key, str(number).encode(), IfMatch=tag)
        except ClientError as error:
            if error.response["Error"]["Code"] not in {"PreconditionFailed", "ConditionalRequestConflict"}:
                raise
            return False
        return True

    with ThreadPoolExecutor(6) as writers:
        won = list(writers.map(swap, range(6)))
    assert won.count(True) == 1
    assert _read(aws, key) == str(won.index(True)).encode()


def a_read_of_what_is_known_is_not_sent_again(aws: Account) -> None:
    """If-None-Match with the tag one has: 304."""
    key = f"{aws.fresh()}/a"
    tag = _put(aws, key, b"one")["ETag"]
    refused("304|NotModified", lambda: _read(aws, key, IfNoneMatch=tag))
    assert _read(aws, key, IfMatch=tag) == b"one"


def what_is_missing_is_said(aws: Account) -> None:
    """An object and a bucket, each by its word."""
    refused("NoSuchKey", lambda: _read(aws, f"{aws.fresh()}/not"))
    refused("404|NotFound|NoSuchKey", lambda: aws.s3.head_object(Bucket=aws.bucket, Key=f"{aws.fresh()}/not"))
    refused("NoSuchBucket", lambda: aws.s3.get_bucket_versioning(Bucket=f"{aws.bucket}-not"))


def a_list_comes_in_pages(aws: Account) -> None:
    """In the order of their names, without a gap, with common prefixes."""
    folder = aws.fresh()
    names = [f"{folder}/{number:02d}/file" for number in range(12)]
    for name in names:
        _put(aws, name, b"x")
    pages = aws.s3.get_paginator("list_objects_v2").paginate(
        Bucket=aws.bucket, Prefix=f"{folder}/", PaginationConfig={"PageSize": 5}
    )
    found = [[each["Key"] for each in page["Contents"]] for page in pages]
    assert [len(page) for page in found] == [5, 5, 2]
    assert [name for page in found for name in page] == names
    told = aws.s3.list_objects_v2(Bucket=aws.bucket, Prefix=f"{folder}/", Delimiter="/")
    assert len(told["CommonPrefixes"]) == 12


def names_may_hold_what_files_hold(aws: Account) -> None:
    """Blanks, signs, letters of other languages, as they are in a workspace."""
    folder = aws.fresh()
    names = [f"{folder}/{name}" for name in ("a b+c%20&=.txt", "ä ß 日本 🙂.md", "deep/er/.hidden", "'quote\"#?.py")]
    for name in names:
        _put(aws, name, name.encode())
    assert [_read(aws, name) for name in names] == [name.encode() for name in names]
    listed = aws.s3.list_objects_v2(Bucket=aws.bucket, Prefix=f"{folder}/")["Contents"]
    assert sorted(each["Key"] for each in listed) == sorted(names)


def large_and_empty_bodies(aws: Account) -> None:
    """12 MB in one request and none at all; a part of one by its range."""
    folder, body = aws.fresh(), bytes(range(256)) * (12 * MB // 256)
    _put(aws, f"{folder}/large", body)
    _put(aws, f"{folder}/empty", b"")
    assert hashlib.sha256(_read(aws, f"{folder}/large")).digest() == hashlib.sha256(body).digest()
    assert _read(aws, f"{folder}/empty") == b""
    assert _read(aws, f"{folder}/large", Range="bytes=256-511") == bytes(range(256))


def a_body_that_changed_on_its_way_is_refused(aws: Account) -> None:
    """Content-MD5 and SHA-256 are looked at."""
    key, body = f"{aws.fresh()}/a", b"content"
    wrong = base64.b64encode(hashlib.md5(b"other", usedforsecurity=False).digest()).decode()
    refused("BadDigest", lambda: _put(aws, key, body, ContentMD5=wrong))
    other = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
    refused("BadDigest|InvalidRequest|XAmzContentChecksumMismatch", lambda: _put(aws, key, body, ChecksumSHA256=other))
    refused("NoSuchKey", lambda: _read(aws, key))


def a_checksum_is_kept(aws: Account) -> None:
    """That of the answer to a write is the one that was sent."""
    key, body = f"{aws.fresh()}/a", b"content"
    sha = base64.b64encode(hashlib.sha256(body).digest()).decode()
    assert _put(aws, key, body, ChecksumSHA256=sha).get("ChecksumSHA256") == sha


def an_upload_in_parts(aws: Account) -> None:
    """Parts of 5 MB become one object, which one sees only when it is complete."""
    key = f"{aws.fresh()}/a"
    upload = aws.s3.create_multipart_upload(Bucket=aws.bucket, Key=key)["UploadId"]
    parts = []
    for number, body in enumerate((b"x" * 5 * MB, b"end"), 1):
        tag = aws.s3.upload_part(Bucket=aws.bucket, Key=key, UploadId=upload, PartNumber=number, Body=body)["ETag"]
        parts.append({"PartNumber": number, "ETag": tag})
    refused("NoSuchKey", lambda: _read(aws, key))
    aws.s3.complete_multipart_upload(Bucket=aws.bucket, Key=key, UploadId=upload, MultipartUpload={"Parts": parts})
    assert len(_read(aws, key)) == 5 * MB + 3


def a_part_that_is_too_small_is_refused(aws: Account) -> None:
    """Only the last part may have less than 5 MB."""
    key = f"{aws.fresh()}/a"
    upload = aws.s3.create_multipart_upload(Bucket=aws.bucket, Key=key)["UploadId"]
    parts = []
    for number in (1, 2):
        tag = aws.s3.upload_part(Bucket=aws.bucket, Key=key, UploadId=upload, PartNumber=number, Body=b"x")["ETag"]
        parts.append({"PartNumber": number, "ETag": tag})
    refused("EntityTooSmall", lambda: aws.s3.complete_multipart_upload(
        Bucket=aws.bucket, Key=key, UploadId=upload, MultipartUpload={"Parts": parts}
    ))  # fmt: skip
    aws.s3.abort_multipart_upload(Bucket=aws.bucket, Key=key, UploadId=upload)


def many_are_deleted_at_once(aws: Account) -> None:
    """Those that are there, without a word about those that are not."""
    folder = aws.fresh()
    names = [f"{folder}/{number}" for number in range(5)]
    for name in names[:4]:
        _put(aws, name, b"x")
    told = aws.s3.delete_objects(
        Bucket=aws.bucket, Delete={"Objects": [{"Key": name} for name in names], "Quiet": True}
    )
    assert "Errors" not in told
    assert aws.s3.list_objects_v2(Bucket=aws.bucket, Prefix=f"{folder}/")["KeyCount"] == 0


CHECKS = (
    a_write_is_seen_at_once, earlier_versions_can_be_read, a_put_if_absent_is_taken_once, a_manifest_is_swapped_by_its_etag,
    of_several_swaps_one_is_taken, a_read_of_what_is_known_is_not_sent_again, what_is_missing_is_said, a_list_comes_in_pages,
    names_may_hold_what_files_hold, large_and_empty_bodies, a_body_that_changed_on_its_way_is_refused, a_checksum_is_kept,
    an_upload_in_parts,
    a_part_that_is_too_small_is_refused, many_are_deleted_at_once,
)  # fmt: skip
