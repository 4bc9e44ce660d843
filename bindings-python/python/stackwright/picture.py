"""Pictures of resources: what an operation did or would do, or what a stack has."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any, Final

from ._results import GraphEdge, GraphNode, ResourceGraph
from ._stackwright import Graph as NativeGraph, Picture as NativePicture
from .errors import InvalidInputError

__all__ = ["Picture", "StackGraph"]

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

    @classmethod
    def of_plan(cls, document: Mapping[str, Any] | str) -> Picture:
        """Returns the resources of a plan's document, as a file of it has them or as :attr:`~stackwright.Result.plan` holds it. ::

            page = sw.Picture.of_plan(Path("plan.json").read_text()).to_html()

        A plan has the new values of the properties that change, and no others. It needs no key: encrypted secrets are masked, and texts
        outside of them are shown as the document has them.

        :param document: The document as a mapping or as JSON text.
        :raises InvalidInputError: It is no plan's document.
        """
        if not isinstance(document, (Mapping, str)):
            hint = "; the picture of a result is its picture()" if hasattr(document, "picture") else ""
            raise InvalidInputError(f"of_plan() takes a plan's document, not {type(document).__name__}{hint}")
        text = document if isinstance(document, str) else json.dumps(dict(document))
        return cls(NativePicture.of_plan(text))

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


class StackGraph(ResourceGraph):
    """The recorded resources of a stack, and the references between them: data, and a picture that a notebook shows.

    ::

        graph = await stack.graph()
        Path("stack.html").write_text(graph.to_html())
    """

    __slots__ = ("_native",)

    _native: NativeGraph

    def __init__(self, native: NativeGraph) -> None:
        document = json.loads(native.document())
        super().__init__(
            nodes=tuple(GraphNode(**node) for node in document["nodes"]),
            edges=tuple(GraphEdge(**edge) for edge in document["edges"]),
        )
        # The fields of the class are frozen.
        object.__setattr__(self, "_native", native)

    def picture(self) -> Picture:
        """Returns the resources with their properties, to be drawn."""
        return Picture(self._native.picture())

    def to_html(self) -> str:
        """Returns the picture as one HTML page; see :meth:`Picture.to_html`."""
        return self.picture().to_html()

    def to_mermaid(self) -> str:
        """Returns the picture as a flowchart of Mermaid."""
        return self.picture().to_mermaid()

    def to_dot(self) -> str:
        """Returns the picture as a digraph of Graphviz."""
        return self.picture().to_dot()

    def __repr__(self) -> str:
        return f"<StackGraph of {len(self.nodes)} resources and {len(self.edges)} references>"

    def _repr_html_(self) -> str:
        return self.picture()._repr_html_()
