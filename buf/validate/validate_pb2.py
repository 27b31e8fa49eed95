"""The descriptor of ``buf/validate/validate.proto``, as the installed protovalidate holds it.

The generated stubs in ``headway/v1`` import this path. protovalidate 2 no longer ships classes for it that the
``google.protobuf`` runtime can import, only the descriptor; registering that descriptor is all that the stubs need.
This module decides nothing and knows no rule.
"""

from __future__ import annotations

import protovalidate

# Imported for their effect: the descriptors that validate.proto depends on must be registered before it.
from google.protobuf import (
    descriptor_pb2,  # noqa: F401
    descriptor_pool,
    duration_pb2,  # noqa: F401
    field_mask_pb2,  # noqa: F401
    timestamp_pb2,  # noqa: F401
)

SERIALIZED: bytes = protovalidate.ViolationPb.desc().file.proto.to_binary()
"""The serialized ``FileDescriptorProto``; generation feeds it to the compiler as an import."""

DESCRIPTOR = descriptor_pool.Default().AddSerializedFile(SERIALIZED)
