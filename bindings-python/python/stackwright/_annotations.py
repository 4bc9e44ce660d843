"""Names for annotations that older versions of Python lack: annotations can be evaluated (``typing.get_type_hints``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Unpack"]

if TYPE_CHECKING:
    from typing_extensions import Unpack
else:
    try:
        from typing import Unpack
    except ImportError:

        class Unpack:
            """Stands for ``typing.Unpack`` before Python 3.11: the options themselves."""

            def __class_getitem__(cls, options: Any) -> Any:
                return options
