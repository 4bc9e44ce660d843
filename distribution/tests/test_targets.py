"""The build description, and what is derived from it."""

from __future__ import annotations

import json
import subprocess

import pytest
from products import main_manifest, platform_manifest
from targets import PRODUCTS, ROOT, TARGETS, Target, host, shipped, version

_LOAD = """
const [platform, arch, glibc] = process.argv.slice(1);
const Module = require("node:module");
Object.defineProperty(process, "platform", { value: platform });
Object.defineProperty(process, "arch", { value: arch });
process.report.getReport = () => ({ header: glibc === "yes" ? { glibcVersionRuntime: "2.28" } : {} });
const resolve = Module._resolveFilename;
const asked = [];
Module._resolveFilename = function (request, ...rest) {
    if (request.startsWith("@stackwright/") || request.endsWith(".node")) {
        asked.push(request);
        throw Object.assign(new Error("missing"), { code: "MODULE_NOT_FOUND" });
    }
    return resolve.call(this, request, ...rest);
};
let message = null;
try { require("./bindings-node/dist/native.js"); } catch (error) { message = error.message; }
console.log(JSON.stringify({ asked, message }));
"""


def test_this_machine_is_a_tested_target() -> None:
    assert host() in shipped()


def test_targets_and_what_is_named_after_them_are_different() -> None:
    for names in ({target.triple for target in TARGETS}, {target.npm_name for target in TARGETS}, {target.wheel for target in TARGETS}):
        assert len(names) == len(TARGETS)


@pytest.mark.parametrize("target", [target for target in TARGETS if target.system == "linux"], ids=lambda target: str(target.triple))
def test_the_policy_of_a_wheel_has_the_glibc_of_its_target(target: Target) -> None:
    policy = f"manylinux_{target.glibc.replace('.', '_')}" if target.glibc else "musllinux_1_2"
    assert target.compatibility == policy


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: str(target.triple))
def test_the_node_package_looks_for_the_package_that_the_description_names(target: Target) -> None:
    arguments = [target.system, target.processor, "yes" if target.abi == "gnu" else "no"]
    ended = subprocess.run(["node", "-e", _LOAD, *arguments], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
    loaded = json.loads(ended.stdout)
    assert loaded["asked"] == [f"../stackwright.{target.npm_name}.node", target.npm_package]
    assert f"the package {target.npm_package} is not installed" in loaded["message"]


def test_the_npm_package_names_only_tested_platforms_in_its_own_version() -> None:
    assert main_manifest()["optionalDependencies"] == {"@stackwright/linux-x64-gnu": version()}


def test_npm_selects_the_package_of_a_platform() -> None:
    (linux,) = [platform_manifest(target) for target in TARGETS if target.triple == "x86_64-unknown-linux-gnu"]
    assert (linux["os"], linux["cpu"], linux["libc"]) == (["linux"], ["x64"], ["glibc"])
    (mac,) = [platform_manifest(target) for target in TARGETS if target.triple == "aarch64-apple-darwin"]
    assert (mac["os"], mac["cpu"], "libc" in mac) == (["darwin"], ["arm64"], False)


def test_the_products_link_crates_of_this_workspace() -> None:
    manifests = "".join(path.read_text() for path in ROOT.glob("*/Cargo.toml"))
    for crate in (crate for crates in PRODUCTS.values() for crate in crates):
        assert f'name = "{crate}"\n' in manifests
