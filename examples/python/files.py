"""A provider that manages real files below one folder: used by the other examples."""

from __future__ import annotations

import hashlib
from pathlib import Path

import stackwright as sw


class Files(sw.Provider):
    """Manages ``files:index:File``: a text file with a path, below ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def check(self, request: sw.CheckRequest) -> sw.CheckResult:
        failures = []
        for name in ("path", "content"):
            value = request.inputs.get(name)
            if not isinstance(value, (str, sw.Unknown)):
                failures.append(sw.CheckFailure(f"{name} must be a text", name))
        path = request.inputs.get("path")
        if isinstance(path, str) and not self._place(path).is_relative_to(self.root):
            failures.append(sw.CheckFailure("path must stay below the folder", "path"))
        return sw.CheckResult(request.inputs, failures)

    def diff(self, request: sw.DiffRequest) -> sw.DiffResult:
        changed = [name for name in ("path", "content") if request.inputs.get(name) != request.old_inputs.get(name)]
        replaces = ["path"] if "path" in changed else []
        return sw.DiffResult(changes=bool(changed), replaces=replaces, diffs=changed)

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        path, content = request.inputs["path"], request.inputs["content"]
        return sw.CreateResult(path, self._write(path, content))

    def read(self, request: sw.ReadRequest) -> sw.ReadResult | None:
        place = self._place(request.id)
        if not place.exists():
            return None
        content = place.read_text()
        outputs = self._describe(request.id, content)
        return sw.ReadResult(request.id, outputs, {"path": request.id, "content": content})

    def update(self, request: sw.UpdateRequest) -> sw.UpdateResult:
        return sw.UpdateResult(self._write(request.id, request.inputs["content"]))

    def delete(self, request: sw.DeleteRequest) -> None:
        self._place(request.id).unlink(missing_ok=True)

    def invoke(self, request: sw.InvokeRequest) -> sw.InvokeResult:
        if request.token != "files:index:digest":
            raise sw.ProviderError(f"unknown function {request.token}", status=sw.Status.UNIMPLEMENTED)
        return sw.InvokeResult({"sha256": _digest(request.arguments["content"])})

    def _place(self, path: str) -> Path:
        return (self.root / path).resolve()

    def _write(self, path: str, content: str) -> dict[str, sw.PropertyValue]:
        place = self._place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
        return self._describe(path, content)

    @staticmethod
    def _describe(path: str, content: str) -> dict[str, sw.PropertyValue]:
        return {"path": path, "content": content, "size": len(content), "sha256": _digest(content)}


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
