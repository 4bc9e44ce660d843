"""The bill of materials of a package: CycloneDX 1.5 in JSON, equal for equal sources."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import uuid
from typing import Any

from components import Component
from targets import ROOT, SUMMARY, Target, version

NAMESPACE = uuid.UUID("5b1c1f51-8c4c-5a55-8a6c-0e2d5f3f4a70")


def source_date() -> int:
    """Returns the time of the sources, in seconds: SOURCE_DATE_EPOCH, or that of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        command = ["git", "log", "-1", "--format=%ct"]
        given = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    return int(given or 315532800)


def _component(part: Component) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "library",
        "bom-ref": part.purl,
        "name": part.name,
        "version": part.version,
        "scope": "required" if part.compiled else "excluded",
        "licenses": [{"expression": part.licence}],
        "purl": part.purl,
    }
    if part.description:
        entry["description"] = part.description
    if part.sha256:
        entry["hashes"] = [{"alg": "SHA-256", "content": part.sha256}]
    if part.source:
        entry["externalReferences"] = [{"type": "vcs" if part.purl.startswith("pkg:cargo") else "website", "url": part.source}]
    return entry


def document(purl: str, parts: list[Component], target: Target | None) -> str:
    """Returns the bill of a package. Crates of this workspace are parts of the package itself."""
    name = purl.partition("@")[0].rpartition("/")[2]
    used = {each for part in parts for each in part.needs}
    known = {part.purl for part in parts}
    bom: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(source_date(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "library",
                "bom-ref": purl,
                "name": name,
                "version": version(),
                "description": SUMMARY,
                "licenses": [{"expression": "Apache-2.0"}],
                "purl": purl,
            },
            **({"properties": [{"name": "cdx:rustc:sbom:target:triple", "value": target.triple}]} if target else {}),
        },
        "components": [_component(part) for part in parts],
        "dependencies": [
            {"ref": purl, "dependsOn": sorted(known - used)},
            *({"ref": part.purl, "dependsOn": [each for each in part.needs if each in known]} for part in parts),
        ],
    }
    bom["serialNumber"] = f"urn:uuid:{uuid.uuid5(NAMESPACE, json.dumps(bom, sort_keys=True))}"
    return json.dumps(bom, indent=2, ensure_ascii=False) + "\n"
