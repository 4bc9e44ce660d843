"""Every block of every page runs, in the order of the page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import play
from blocks import ROOT, Block, PageError, blocks_of, output_matches, pages
from play import DEADLINE, BlockError, Player

WORKERS = 4
"""How many pages are played at once."""

NAMES = [str(page.relative_to(ROOT)) for page in pages()]


def _play(name: str, folder: Path) -> int:
    player = Player(folder)
    played = 0
    for block in blocks_of(name, (ROOT / name).read_text(encoding="utf-8")):
        player.play(block)
        played += 1
    shutil.rmtree(folder)
    return played


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[int]]]:
    """The pages of the chosen tests, several at once."""
    chosen = [item.callspec.params["name"] for item in request.session.items if "name" in getattr(getattr(item, "callspec", None), "params", {})]
    with ThreadPoolExecutor(WORKERS) as pool:
        yield {name: pool.submit(_play, name, tmp_path_factory.mktemp("page")) for name in chosen}


@pytest.mark.timeout(5 * DEADLINE)
@pytest.mark.parametrize("name", NAMES)
def test_the_blocks_of_the_page_run(name: str, played: dict[str, Future[int]]) -> None:
    played[name].result()


def _page(text: str) -> list[Block]:
    return blocks_of("page.md", text)


def test_a_failing_block_fails_its_page(tmp_path: Path) -> None:
    [block] = _page("```python\nraise SystemExit(3)\n```\n")
    with pytest.raises(BlockError, match=r"page\.md:1: exit code 3"):
        Player(tmp_path).play(block)


def test_another_output_fails_its_page(tmp_path: Path) -> None:
    [block] = _page("```sh\necho one\n```\n<!-- docs: output -->\n```text\ntwo\n```\n")
    with pytest.raises(BlockError, match="another one:\none"):
        Player(tmp_path).play(block)


def test_the_output_of_cargo_is_compared_where_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [block] = _page("```sh\ncargo run --quiet\n```\n<!-- docs: output -->\n```text\ntwo\n```\n")
    player = Player(tmp_path)
    (player.programs / "cargo").write_text("#!/bin/sh\necho one\n")
    player.play(block)
    monkeypatch.setattr(play, "COMPILES", True)
    with pytest.raises(BlockError, match="another one:\none"):
        player.play(block)


def test_folder_and_variables_of_a_shell_are_kept(tmp_path: Path) -> None:
    player = Player(tmp_path)
    for block in _page("```sh\nmkdir deep && cd deep && export WORD='a b'\n```\n\n```sh\ntest \"$WORD\" = 'a b' && basename $PWD\n```\n"
                       "<!-- docs: output -->\n```text\ndeep\n```\n"):
        player.play(block)


def test_a_block_that_would_write_into_the_checkout_fails_its_page(tmp_path: Path) -> None:
    player = Player(tmp_path)
    shell, python = _page("```sh\ncd stackwright\n```\n\n```python\nprint()\n```\n")
    player.play(shell)
    with pytest.raises(BlockError, match="inside the checkout"):
        player.play(python)


def test_a_missing_target_of_make_fails_its_page(tmp_path: Path) -> None:
    [block] = _page("```sh\nmake there-is-no-such-target\n```\n")
    with pytest.raises(BlockError, match="there-is-no-such-target"):
        Player(tmp_path).play(block)


def test_lines_before_and_after_a_block_are_part_of_it() -> None:
    [block] = _page("<!-- docs: before\nx = 1\n-->\n<!-- docs: after\nassert x == 2\n-->\n```python\nx += 1\n```\n")
    assert block.program() == "x = 1\nx += 1\nassert x == 2\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```\ntext\n```\n", "the language ''"),
        ("```go\npackage main\n```\n", "the language 'go'"),
        ("```python\n", "the block has no end"),
        ("<!-- docs: skip -->\n```python\n```\n", "unknown marker 'skip'"),
        ("<!-- docs: file=x -->\n\ntext\n", "no block follows"),
        ("<!-- docs: output -->\n```text\n```\n", "no block before has an output"),
    ],
)
def test_a_page_that_is_not_understood_is_refused(text: str, message: str) -> None:
    with pytest.raises(PageError, match=message):
        _page(text)


def test_an_ellipsis_of_an_expected_output_stands_for_any_text() -> None:
    assert output_matches("a … c\n…\nend", "a b c\n1\n2\nend\n")
    assert output_matches("a\n…\nend", "a\nend\n")
    assert not output_matches("a … c", "a b d")


def test_the_duration_of_a_slow_step_is_not_compared() -> None:
    assert output_matches(" +   first (notes:index:Note)", " +   first (notes:index:Note)  1 min 2.5 s\n")
    assert not output_matches(" +   first (notes:index:Note)", " +   first (notes:index:Note) and another\n")
