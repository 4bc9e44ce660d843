"""One version: that of the workspace."""

from __future__ import annotations

import json
import re

from targets import ROOT, version


def test_the_npm_package_and_its_lock_file_have_the_version_of_the_workspace() -> None:
    assert json.loads((ROOT / "package.json").read_text())["version"] == version()
    lock = json.loads((ROOT / "package-lock.json").read_text())
    assert lock["version"] == version()
    assert lock["packages"][""]["version"] == version()


def test_the_crates_need_each_other_in_exactly_the_version_of_the_workspace() -> None:
    manifest = (ROOT / "Cargo.toml").read_text()
    needed = dict(re.findall(r'(?m)^(stackwright[a-z-]*) = \{ path = "[a-z]+", version = "(.+)" \}$', manifest))
    published = {name for name, text in _members().items() if "publish.workspace" not in text}
    assert needed == dict.fromkeys(published, f"={version()}")


def test_all_crates_and_the_wheel_take_their_version_from_the_workspace() -> None:
    for name, text in _members().items():
        assert "\nversion.workspace = true\n" in text, name
    project = (ROOT / "pyproject.toml").read_text()
    assert '\ndynamic = ["version"]\n' in project
    assert not re.search(r"(?m)^version =", project)


def test_the_changelog_has_a_section_for_what_is_not_released_or_for_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(rf"(?m)^## \[(Unreleased|{re.escape(version())})\]", changelog)


def _members() -> dict[str, str]:
    """Returns the manifests of the workspace's crates by name."""
    members = re.search(r"(?m)^members = \[(.*)\]$", (ROOT / "Cargo.toml").read_text())
    assert members is not None
    texts = [(ROOT / folder / "Cargo.toml").read_text() for folder in re.findall(r'"([^"]+)"', members[1])]
    return {text.partition('name = "')[2].partition('"')[0]: text for text in texts}
