"""Writes the published descriptors of the files in this crate, taken from an installed `pulumi` package.

Run it with a Python that has the package; it rewrites `descriptors.bin` and `release.txt` next to itself.
"""

import importlib
from importlib import metadata
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet

here = Path(__file__).resolve().parent
crate = here.parent
published = FileDescriptorSet()

for path in sorted(p.relative_to(crate) for p in crate.glob("*/**/*.proto")):
    # The package keeps its modules below one folder, without the first parts of the descriptors' names.
    name = path.as_posix().removeprefix("pulumi/").removeprefix("google/protobuf/")
    module = name.removesuffix(".proto").replace("/", ".") + "_pb2"
    descriptor = importlib.import_module(f"pulumi.runtime.proto.{module}").DESCRIPTOR
    descriptor.CopyToProto(published.file.add())

(here / "descriptors.bin").write_bytes(published.SerializeToString(deterministic=True))
(here / "release.txt").write_text(metadata.version("pulumi") + "\n")
