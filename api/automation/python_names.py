"""Finds the public names of ``pulumi.automation``, and the tests that use them.

Both are found by the type checker, so that a use counts only for the class whose member it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from mypy import build, nodes, types
from mypy.modulefinder import BuildSource
from mypy.options import Options

ROOT: Final = Path(__file__).resolve().parents[2]
TESTS: Final = ROOT / "bindings-python" / "tests"
SCRIPTS: Final = ROOT / "examples" / "automation" / "python"
UPSTREAM: Final = "pulumi.automation"

_INTERNAL_MODULES: Final = frozenset({"_env", "_minimum_version", "_representable", "_server"})
"""Modules whose names are no part of the interface."""

_INTERNAL_NAMES: Final = frozenset(
    {
        "API",
        "BaseEvent",
        "BaseResult",
        "ExecKind",
        "StackInitMode",
        "StackInitializer",
        "create_command_error",
        "default_project",
        "get_stack_settings_name",
    }
)
"""Names of the other modules that the SDK uses for itself. ``API`` has a method for each command of the executable."""

_INTERNAL_MEMBERS: Final = frozenset({"from_dict", "from_json", "ready", "to_dict"})
"""Members with which the SDK reads and writes documents."""

_ALIASES: Final = frozenset({"ConfigMap", "OnEvent", "OnOutput", "OpMap", "OutputMap", "TagMap"})
"""Names of other types, which the type checker replaces by these."""

Names = dict[str, list[str]]
"""For each class, function or type, the names of its members and options."""


def analyse() -> tuple[Names, dict[str, list[str]]]:
    """Returns the public names, and the tests that use each."""
    options = Options()
    options.export_types = options.preserve_asts = options.ignore_errors = options.ignore_missing_imports = True
    options.incremental = False
    options.mypy_path = [str(ROOT / "bindings-python" / "python"), str(TESTS)]
    files = sorted(TESTS.glob("test_automation*.py"))
    scripts = sorted(SCRIPTS.glob("*.py"))
    sources = [BuildSource(str(file), file.stem) for file in [*files, TESTS / "automation_support.py"]]
    sources += [BuildSource(str(file), f"script_{file.stem}") for file in scripts]
    result = build.build(sources, options)
    names = _public_names(result.files)
    known = {name for name in _flattened(names)}
    uses: dict[str, list[str]] = defaultdict(list)
    finders = {source.module: _Finder(result.types, known) for source in sources}
    for module, finder in finders.items():
        finder.visit_module(result.files[module])
    for module, finder in finders.items():
        for test, used in finder.tests(finders):
            for name in used:
                uses[name].append(f"{module}.py::{test}")
        if module.startswith("script_") and not module.startswith("script__"):
            for name in set().union(*finder.used.values()):
                uses[name].append(f"examples/automation/python/{module.removeprefix('script_')}.py")
    return names, uses


def _flattened(names: Names) -> Iterator[str]:
    for owner, members in names.items():
        yield owner
        yield from (f"{owner}{member}" for member in members)


def _public_names(files: dict[str, nodes.MypyFile]) -> Names:
    names: Names = {}
    for module in sorted(files):
        prefix, _, last = module.rpartition(".")
        if prefix != UPSTREAM or last in _INTERNAL_MODULES:
            continue
        for name, entry in files[module].names.items():
            node = entry.node
            if name.startswith("_") or name in _INTERNAL_NAMES or node is None or node.fullname != f"{module}.{name}":
                continue
            if isinstance(node, nodes.TypeInfo):
                names[name] = sorted(_members(node))
            elif isinstance(node, nodes.TypeAlias):
                names[name] = []
            elif isinstance(node, nodes.FuncDef):
                names[name] = [f"({option})" for option in _options(node)]
    # The members of the interface are those of its implementation.
    names["Workspace"] = []
    return names


def _options(function: nodes.FuncDef) -> list[str]:
    """Returns the parameters that can be left out."""
    return [argument.variable.name for argument in function.arguments if argument.kind.is_optional()]


def _members(info: nodes.TypeInfo) -> set[str]:
    if info.typeddict_type is not None:
        return {f".{key}" for key in info.typeddict_type.items}
    members: set[str] = set()
    for base in info.mro:
        if not base.fullname.startswith(f"{UPSTREAM}."):
            continue
        for name, entry in base.names.items():
            if name.startswith("_") or name in _INTERNAL_MEMBERS:
                continue
            members.add(f".{name}")
            function = entry.node.func if isinstance(entry.node, nodes.Decorator) else entry.node
            is_property = isinstance(function, nodes.FuncDef) and function.is_property
            if isinstance(function, nodes.FuncDef) and not is_property:
                members |= {f".{name}({option})" for option in _options(function)}
    return members


_NOT_CHILDREN: Final = frozenset(
    {"analyzed", "definition", "expanded", "info", "node", "original_decorators", "original_def", "type", "unanalyzed_type"}
)
"""Attributes of nodes that refer to other parts of the tree."""


def _children(node: nodes.Node) -> Iterator[nodes.Node]:
    attributes = {name for base in type(node).__mro__ for name in getattr(base, "__mypyc_attrs__", ())}
    pending = [getattr(node, name, None) for name in sorted(attributes - _NOT_CHILDREN)]
    while pending:
        value = pending.pop(0)
        if isinstance(value, list | tuple):
            pending = [*value, *pending]
        elif isinstance(value, nodes.Statement | nodes.Expression | nodes.Block | nodes.Argument):
            yield value


class _Finder:
    """Collects the names that each function or variable of a module uses."""

    def __init__(self, expressions: dict[nodes.Expression, types.Type], known: set[str]) -> None:
        self._types = expressions
        self._known = known
        self._owner = ""
        self.used: dict[str, set[str]] = defaultdict(set)
        self._references: dict[str, set[str]] = defaultdict(set)
        self._module = ""

    def tests(self, others: dict[str, _Finder]) -> Iterator[tuple[str, set[str]]]:
        """Returns each test with what it uses, itself and through helpers, fixtures and tables."""
        for owner in list(self.used):
            if owner.startswith("test_"):
                yield owner, self._closure(owner, others, set())

    def _closure(self, owner: str, others: dict[str, _Finder], seen: set[str]) -> set[str]:
        if (key := f"{self._module}.{owner}") in seen:
            return set()
        seen.add(key)
        found = set(self.used.get(owner, ()))
        for reference in self._references.get(owner, ()):
            module, _, name = reference.rpartition(".")
            finder = self if module == self._module else others.get(module)
            if finder is not None:
                found |= finder._closure(name, others, seen)
        return found

    def visit_module(self, o: nodes.MypyFile) -> None:
        self._module = o.fullname
        for statement in o.defs:
            inner = statement.func if isinstance(statement, nodes.Decorator) else statement
            owner = ""
            if isinstance(inner, nodes.FuncDef | nodes.ClassDef):
                owner = inner.name
            elif isinstance(inner, nodes.AssignmentStmt) and isinstance(inner.lvalues[0], nodes.NameExpr):
                owner = inner.lvalues[0].name
            self._owner = owner
            self.used[owner] |= set()
            if isinstance(inner, nodes.FuncDef):
                # A fixture is named like the parameter.
                for name in inner.arg_names:
                    if name is not None:
                        self._references[owner] |= {f"{self._module}.{name}", f"automation_support.{name}"}
            self._visit(statement)

    def _visit(self, node: nodes.Node) -> None:
        match node:
            case nodes.NameExpr():
                self._refer(node)
            case nodes.MemberExpr():
                self._visit_member(node)
            case nodes.CallExpr():
                self._visit_call(node)
            case nodes.DictExpr():
                self._visit_dict(node)
            case nodes.FuncDef() if isinstance(node.type, types.CallableType):
                self._annotated([*node.type.arg_types, node.type.ret_type])
            case nodes.AssignmentStmt():
                self._visit_assignment(node)
        for child in _children(node):
            self._visit(child)

    def _note(self, name: str) -> None:
        owner, point, member = name.partition(".")
        for known in (name, f"LocalWorkspace{point}{member}" if owner == "Workspace" else name):
            if known in self._known:
                self.used[self._owner].add(known)

    def _visit_member(self, o: nodes.MemberExpr) -> None:
        self._refer(o)
        for owner in self._owners(o.expr, o.name):
            self._note(owner)
            self._note(f"{owner}.{o.name}")

    def _refer(self, o: nodes.RefExpr) -> None:
        self._references[self._owner].add(o.fullname)
        if o.fullname.startswith((f"{UPSTREAM}.", "stackwright.automation.")):
            self._note(o.fullname.rpartition(".")[2])
        elif isinstance(o.node, nodes.TypeAlias) and o.node.fullname.startswith(UPSTREAM):
            self._note(o.node.name)

    def _owners(self, expression: nodes.Expression, name: str) -> Iterator[str]:
        """Returns the upstream classes of an object, or the class itself, that have a member."""
        if isinstance(expression, nodes.RefExpr) and isinstance(expression.node, nodes.TypeInfo):
            yield from _upstream([expression.node])
        elif (found := self._types.get(expression)) is not None:
            yield from _upstream(_classes(found))

    def _visit_call(self, o: nodes.CallExpr) -> None:
        callee = o.callee
        if isinstance(callee, nodes.RefExpr) and isinstance(callee.node, nodes.TypeInfo):
            info = callee.node
            initializer = info.get_method("__init__")
            parameters = initializer.arg_names[1:] if isinstance(initializer, nodes.FuncDef) else []
            for owner in _upstream([info]):
                self._note(owner)
                for option in _given(o, parameters):
                    self._note(f"{owner}.{option}")
        else:
            kind = types.get_proper_type(self._types.get(callee))
            if isinstance(kind, types.CallableType):
                parameters = list(kind.arg_names)
                if isinstance(callee, nodes.MemberExpr):
                    for owner in self._owners(callee.expr, callee.name):
                        if parameters[:1] == ["self"]:
                            del parameters[0]
                        for option in _given(o, parameters):
                            self._note(f"{owner}.{callee.name}({option})")
                if isinstance(callee, nodes.RefExpr):
                    for option in _given(o, parameters):
                        self._note(f"{callee.fullname.rpartition('.')[2]}({option})")

    def _visit_dict(self, o: nodes.DictExpr) -> None:
        kind = types.get_proper_type(self._types.get(o))
        if isinstance(kind, types.TypedDictType):
            owner = kind.fallback.type.name
            self._note(owner)
            for key, _ in o.items:
                if isinstance(key, nodes.StrExpr):
                    self._note(f"{owner}.{key.value}")

    def _visit_assignment(self, o: nodes.AssignmentStmt) -> None:
        if o.unanalyzed_type is not None and o.type is not None:
            self._annotated([o.type])
            for text in _words(o.unanalyzed_type):
                if text in _ALIASES:
                    self._note(text)

    def _annotated(self, annotations: Iterable[types.Type]) -> None:
        for annotation in annotations:
            for owner in _upstream(_classes(annotation)):
                self._note(owner)
            if isinstance(annotation, types.TypeAliasType) and annotation.alias is not None:
                self._note(annotation.alias.name)


def _words(annotation: types.Type) -> list[str]:
    return str(annotation).replace("?", " ").replace("[", " ").replace("]", " ").replace(".", " ").split()


def _given(call: nodes.CallExpr, parameters: list[str | None]) -> Iterator[str]:
    """Returns the names of the parameters that a call gives."""
    for index, (kind, name) in enumerate(zip(call.arg_kinds, call.arg_names, strict=True)):
        if name is not None:
            yield name
        elif kind == nodes.ARG_POS and parameters:
            position = parameters[min(index, len(parameters) - 1)]
            if position is not None:
                yield position


def _classes(kind: types.Type | None) -> list[nodes.TypeInfo]:
    """Returns the classes of a type, of its parts and of its elements."""
    proper = types.get_proper_type(kind)
    match proper:
        case types.Instance():
            return [proper.type, *(info for part in proper.args for info in _classes(part))]
        case types.UnionType():
            return [info for item in proper.items for info in _classes(item)]
        case types.TypeType():
            return _classes(proper.item)
        case types.CallableType() if proper.is_type_obj():
            return [proper.type_object()]
        case types.CallableType():
            return [info for part in [*proper.arg_types, proper.ret_type] for info in _classes(part)]
        case _:
            return []


def _upstream(infos: Iterable[nodes.TypeInfo]) -> Iterator[str]:
    for info in infos:
        for base in info.mro:
            if base.fullname.startswith(f"{UPSTREAM}."):
                yield base.name
                break
