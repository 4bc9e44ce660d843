"""Detects that a file was changed by hand, and repairs it."""

import tempfile
from pathlib import Path
from typing import Any

import pulumi
from pulumi import automation as auto, dynamic


class Files(dynamic.ResourceProvider):
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        from pathlib import Path

        Path(props["path"]).write_text(props["content"])
        return dynamic.CreateResult(props["path"], props)

    def read(self, id_: str, props: dict[str, Any]) -> dynamic.ReadResult:
        from pathlib import Path

        if not Path(id_).exists():
            return dynamic.ReadResult("", {})
        return dynamic.ReadResult(id_, {**props, "content": Path(id_).read_text()})

    def diff(self, _id: str, old: dict[str, Any], new: dict[str, Any]) -> dynamic.DiffResult:
        return dynamic.DiffResult(changes=old["content"] != new["content"])

    def update(self, _id: str, old: dict[str, Any], new: dict[str, Any]) -> dynamic.UpdateResult:
        from pathlib import Path

        Path(_id).write_text(new["content"])
        return dynamic.UpdateResult(new)

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        from pathlib import Path

        Path(_id).unlink(missing_ok=True)


class File(dynamic.Resource):
    def __init__(self, name: str, path: str, content: str) -> None:
        super().__init__(Files(), name, {"path": path, "content": content})


folder = tempfile.TemporaryDirectory()
page = Path(folder.name, "page.html")
stack = auto.create_or_select_stack(
    "dev", project_name="shop", program=lambda: File("page", str(page), "<h1>Hello</h1>") and None
)
stack.up()
stack.refresh(expect_no_changes=True)
page.write_text("defaced")
drift = stack.preview_refresh()
print("drift:", drift.change_summary)
assert drift.change_summary.get("update") == 1, drift.change_summary
stack.refresh()
stack.up()
assert page.read_text() == "<h1>Hello</h1>"
page.unlink()
assert stack.refresh().summary.resource_changes.get("delete") == 1
assert stack.up().summary.resource_changes["create"] == 1
stack.destroy()
assert not page.exists()
folder.cleanup()
