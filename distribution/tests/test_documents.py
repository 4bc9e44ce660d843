"""The licences and the bills of materials of the packages."""

from __future__ import annotations

import json
from dataclasses import replace

import notices
import pytest
import sbom
from components import Component, components, graph_library
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from targets import PRODUCTS, host


@pytest.fixture(scope="module", params=PRODUCTS)
def parts(request: pytest.FixtureRequest) -> list[Component]:
    return components(request.param, host(), zig=False)


@pytest.mark.parametrize(
    ("expression", "met"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("(MIT OR GPL-3.0-only) AND ISC", True),
        ("MIT AND (GPL-3.0-only OR LGPL-2.1-only)", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0 WITH Classpath-exception-2.0", False),
        ("", False),
        ("MIT OR", False),
    ],
)
def test_an_expression_is_met_with_allowed_licences_only(expression: str, met: bool) -> None:
    assert notices.satisfied(expression, {"MIT", "ISC", "Apache-2.0 WITH LLVM-exception"}) is met


def test_every_part_of_every_product_has_an_allowed_licence_and_its_text(parts: list[Component]) -> None:
    assert len(parts) > 200
    assert notices.problems(parts) == []


def test_a_part_with_another_licence_or_without_a_text_is_refused(parts: list[Component]) -> None:
    part = replace(parts[0], name="other", version="1.0.0", licence="GPL-3.0-only", texts=[])
    assert notices.problems([part]) == ["other 1.0.0: GPL-3.0-only is not allowed", "other 1.0.0: there is no text of GPL-3.0-only"]


def test_each_text_is_in_the_file_once_below_the_parts_that_it_belongs_to(parts: list[Component]) -> None:
    document = notices.document(parts)
    for part in parts:
        assert f"\n{part.name} {part.version}: {part.licence}\n" in document
        for text in part.texts:
            assert text.rstrip("\n") in document
    sections = document.split("=" * 80 + "\n\n")[1:]
    assert len(sections) == len({text for part in parts for text in part.texts})


def test_the_licence_of_the_graph_library_is_that_of_its_file() -> None:
    (first, *_) = graph_library().texts
    assert first.startswith("Copyright (c) 2016-")
    assert "The Cytoscape Consortium" in first
    assert "THE SOFTWARE IS PROVIDED" in first


def test_c_sources_that_a_crate_brings_have_their_own_licence(parts: list[Component]) -> None:
    texts = {part.name: part.texts for part in parts}
    assert any("Microsoft" in text for text in texts.get("libmimalloc-sys", ["Microsoft"]))
    assert len(texts["ring"]) > 2


def test_a_bill_is_accepted_by_the_schema_and_is_the_same_each_time(parts: list[Component]) -> None:
    document = sbom.document("pkg:generic/stackwright@0.1.0", parts, host())
    assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(document) is None
    assert sbom.document("pkg:generic/stackwright@0.1.0", parts, host()) == document


def test_a_bill_connects_every_part_with_the_package(parts: list[Component]) -> None:
    bill = json.loads(sbom.document("pkg:generic/stackwright@0.1.0", parts, host()))
    uses = {entry["ref"]: entry["dependsOn"] for entry in bill["dependencies"]}
    reached: set[str] = set()
    waiting = [bill["metadata"]["component"]["bom-ref"]]
    while waiting:
        reference = waiting.pop()
        if reference not in reached:
            reached.add(reference)
            waiting.extend(uses[reference])
    assert reached == uses.keys()


def test_macros_are_marked_as_parts_that_are_not_in_the_product(parts: list[Component]) -> None:
    scopes = {part["name"]: part["scope"] for part in json.loads(sbom.document("pkg:generic/stackwright@0.1.0", parts, host()))["components"]}
    assert scopes["tokio"] == "required"
    assert scopes["serde_derive"] == "excluded"
