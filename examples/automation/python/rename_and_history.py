"""Renames a stack and reads its history."""

import pulumi
from pulumi import automation as auto

stack = auto.create_or_select_stack("dev", project_name="shop", program=lambda: pulumi.export("answer", 42))
stack.set_tag("owner", "payments")
stack.up(message="first")
stack.up(message="second")
renamed = stack.rename("live")
assert renamed.summary is not None and renamed.summary.message == "second"
assert stack.name == "live" and stack.get_tag("owner") == "payments"
stack.up(message="third")
for row in stack.history():
    print(row.start_time, row.kind, row.result, row.message)
assert [row.message for row in stack.history()] == ["third", "second", "first"]
assert [row.message for row in stack.history(page_size=1, page=3)] == ["first"]
info = stack.info()
assert info is not None and info.end_time >= info.start_time
assert [row.name for row in stack.workspace.list_stacks()] == ["live"]
stack.destroy(remove=True)
