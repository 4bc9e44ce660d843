"""Pictures of resources: what an operation did or would do, or what a stack has."""

from __future__ import annotations

import html
from typing import Final

from ._stackwright import Picture as NativePicture

__all__ = ["Picture"]

_HEIGHT: Final = 600
"""The height of a picture in a notebook, in pixels."""


class Picture:
    """A picture of resources with their parents, dependencies and changes; secrets are masked.

    A notebook shows it as the page of :meth:`to_html`::

        preview = await stack.preview()
        Path("preview.html").write_text(preview.picture().to_html())
    """

    __slots__ = ("_native",)

    def __init__(self, native: NativePicture) -> None:
        self._native = native

    @property
    def title(self) -> str:
        """The operation and the stack."""
        return self._native.title

    def to_html(self) -> str:
        """Returns one HTML page, which needs no other file and makes no request.

        It shows the graph, and the same resources as a list for keyboards and screen readers; both can be searched, filtered by operation
        and by component, and folded. A click on a resource shows its properties. The page has about 0.5 MB and a few hundred bytes a
        resource.
        """
        return self._native.to_html()

    def to_mermaid(self) -> str:
        """Returns a flowchart of Mermaid, as wikis and forges show it."""
        return self._native.to_mermaid()

    def to_dot(self) -> str:
        """Returns a digraph of Graphviz."""
        return self._native.to_dot()

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"<Picture {self.title!r} of {len(self)} resources>"

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html())
        return f'<iframe title="{html.escape(self.title)}" srcdoc="{page}" loading="lazy" style="width: 100%; height: {_HEIGHT}px; border: 1px solid #8884"></iframe>'
