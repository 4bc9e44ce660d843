"""Policy packs of folders over the Automation API."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from stackwright import automation as auto

from automation_support import Open, open_stack
from conftest import ROOT, missing

URN = "urn:pulumi:dev::shop::mem:index:Thing::"

PACK = """
const policy = require("@pulumi/policy");
new policy.PolicyPack("guard", {
    policies: [{
        name: "not-big",
        description: "Things are small.",
        enforcementLevel: "mandatory",
        configSchema: { properties: { most: { type: "number" } } },
        validateResource: (args, report) => {
            if (args.type === "mem:index:Thing" && args.props.size > (args.getConfig().most ?? 1)) {
                report(args.name + " is too big");
            }
        },
    }],
});
"""


LENIENT = """
const policy = require("@pulumi/policy");
new policy.PolicyPack("advice", {
    policies: [
        {
            name: "not-large",
            description: "Things are small.",
            enforcementLevel: "advisory",
            validateResource: (args, report) => {
                if (args.type === "mem:index:Thing" && args.props.size > 3) {
                    report("rather large:\\nconsider " + args.name);
                }
            },
        },
        {
            name: "tagged",
            description: "Things have an owner.",
            enforcementLevel: "remediate",
            remediateResource: (args) => {
                if (args.type === "mem:index:Thing" && args.props.owner === undefined) {
                    return { ...args.props, owner: "shop" };
                }
            },
        },
    ],
});
"""


def write_pack(tmp_path: Path, name: str, code: str) -> Path:
    """Writes the folder of a policy pack."""
    modules = ROOT / "node_modules"
    if shutil.which("node") is None or not (modules / "@pulumi" / "policy").exists():
        missing("node, or its packages")
    pack = tmp_path / name
    pack.mkdir()
    (pack / "PulumiPolicy.yaml").write_text("runtime: nodejs\n")
    (pack / "package.json").write_text(f'{{"name": "{name}", "version": "1.0.0", "main": "index.js"}}')
    (pack / "index.js").write_text(code)
    (pack / "node_modules").symlink_to(modules)
    return pack


def test_policy_packs_of_folders_are_enforced_with_their_settings(open_stack: Open, tmp_path: Path) -> None:
    pack = write_pack(tmp_path, "guard", PACK)
    lenient = tmp_path / "lenient.json"
    lenient.write_text('{"not-big": {"most": 9}}')
    stack = open_stack()
    stack.set_config("size", auto.ConfigValue("5"))
    events: list[auto.EngineEvent] = []
    with pytest.raises(auto.CommandError, match="preview failed") as caught:
        stack.preview(policy_packs=[str(pack)], on_event=events.append)
    text = str(caught.value)
    assert "Loading policy packs..." in text and f"    ❌ guard@v1.0.0 (local: {pack})\n" in text
    assert "        - [mandatory]  not-big  (mem:index:Thing: size)\n" in text
    assert "          size is too big\n" in text and "Resources:" not in text
    found = [event.policy_event for event in events if event.policy_event is not None]
    assert [(event.policy_name, event.policy_pack_name, event.enforcement_level) for event in found] == [
        ("not-big", "guard", "mandatory")
    ]
    violation = found[0]
    assert violation.resource_urn == f"{URN}size" and "size is too big" in violation.message and violation.color == "never"
    assert violation.policy_pack_version == "1.0.0" and violation.policy_pack_version_tag == "1.0.0"
    summaries = [event.summary_event for event in events if event.summary_event is not None]
    assert [list(summary.policy_packs) for summary in summaries] == [["guard"]]
    with pytest.raises(auto.CommandError, match="size is invalid"):
        stack.up(policy_packs=[str(pack)])
    stack.preview(policy_packs=[str(pack)], policy_pack_configs=[str(lenient)])
    up = stack.up(policy_packs=[str(pack)], policy_pack_configs=[str(lenient)])
    assert up.summary.result == "succeeded"


def test_advice_and_rewritten_inputs_are_shown(open_stack: Open, tmp_path: Path) -> None:
    pack = write_pack(tmp_path, "advice", LENIENT)
    stack = open_stack()
    stack.set_config("size", auto.ConfigValue("5"))
    up = stack.up(policy_packs=[str(pack)])
    assert f"Policies:\n    ⚠️ advice@v1.0.0 (local: {pack})\n        - [remediate]  tagged  (2 resources)\n" in up.stdout
    assert "        - [advisory]  not-large  (mem:index:Thing: size)\n          Things are small.\n          rather large:\n          consider size\n" in up.stdout
    assert "    + 3 created" in up.stdout
    stack.set_config("size", auto.ConfigValue("1"))
    assert f"    ✅ advice@v1.0.0 (local: {pack})" in stack.up(policy_packs=[str(pack)]).stdout
