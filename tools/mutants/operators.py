"""The faults: every way in which the operators here change a source file at one place.

What cannot change a result is left alone: docstrings, annotations, decorators, imports, and what
only words a message. A mutant is replaced text at a place; the rest of the file stays as it is.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, NamedTuple

COMPARISONS: dict[type, tuple[type, ...]] = {  # at the boundary, and the opposite
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitAnd,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}
PAIRS = ["min max", "any all", "argmin argmax", "minimum maximum", "floor ceil", "zeros ones"]
CALLS = {a: b for pair in PAIRS for a, b in (pair.split(), pair.split()[::-1])}
WORDING = {"warn", "note"}  # calls whose arguments are a message


class Mutant(NamedTuple):
    """One fault at one place."""

    module: str  # its file, from the root
    function: str  # qualified name of the function or method around it; "" outside of all
    line: int
    operator: str  # the kind of fault
    before: str
    after: str
    span: tuple[int, int]  # bytes of the file that are replaced
    id: str  # by module, function and its text, and the fault: it outlives edits elsewhere

    def __str__(self) -> str:
        after = self.after[1:-1] if self.after.startswith("(") else self.after
        return f"{self.module}:{self.line} {self.function}: {self.before} -> {after}"

    def applied(self, source: bytes) -> bytes:
        """The source with the fault in it."""
        start, end = self.span
        return source[:start] + self.after.encode() + source[end:]


def mutants_of(module: str, source: bytes) -> list[Mutant]:
    """All mutants of a file, in the order in which they stand there."""
    finder = _Finder(module, source)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda mutant: (mutant.span, mutant.operator, mutant.after))


class _Finder(ast.NodeVisitor):
    def __init__(self, module: str, source: bytes) -> None:
        self.module, self.source, self.found = module, source, list[Mutant]()
        self.scope: list[tuple[str, ast.AST]] = []
        lengths = [len(line) for line in source.splitlines(keepends=True)]
        self.starts = [0, *accumulate(lengths)]

    # -- where: scopes, and what is left alone

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        with self._inside(node):
            self._body(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        with self._inside(node):
            self._body(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Words."""

    @contextmanager
    def _inside(self, node: ast.FunctionDef | ast.ClassDef) -> Iterator[None]:
        self.scope.append((node.name, node))
        yield
        self.scope.pop()

    def _body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    # -- what: the operators

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._add(node, "statement", "pass")
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._add(node, "statement", "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self._add(node, "statement", "pass")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._add(node, "statement", "pass")

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(target, (ast.Subscript, ast.Attribute)) for target in node.targets):
            self._add(node, "statement", "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add(node, "statement", "pass")
        for new in ARITHMETIC.get(type(node.op), ()):
            self._change(node, "arithmetic", op=new())
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self._add(node, "return", "return None")
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self._negate(node.test)
            self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for i, op in enumerate(node.ops):
            for new in COMPARISONS[type(op)]:
                ops = [*node.ops[:i], new(), *node.ops[i + 1 :]]
                self._change(node, "comparison", ops=ops)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        for new in ARITHMETIC.get(type(node.op), ()):
            self._change(node, "arithmetic", op=new())
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        new = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._change(node, "boolean", op=new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self._add(node, "sign", f"({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add(node, "constant", str(not node.value))
        elif isinstance(node.value, (int, float)) and node.value + 1 != node.value:
            self._add(node, "constant", repr(node.value + 1))

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else None
        name = node.func.id if isinstance(node.func, ast.Name) else name
        if name in CALLS:
            key = "attr" if isinstance(node.func, ast.Attribute) else "id"
            self._change(node.func, "call", **{key: CALLS[name]})
        if name not in WORDING:
            self.generic_visit(node)

    # -- how

    def _negate(self, test: ast.expr) -> None:
        if not isinstance(test, (ast.Compare, ast.UnaryOp)):  # which have their opposites already
            self._add(test, "condition", f"(not ({ast.unparse(test)}))")

    def _change(self, node: Any, operator: str, **fields: Any) -> None:
        other = copy.copy(node)
        for name, value in fields.items():
            setattr(other, name, value)
        text = ast.unparse(other)
        self._add(node, operator, f"({text})" if isinstance(node, ast.expr) else text)

    def _add(self, node: Any, operator: str, after: str) -> None:
        start, end = self._span(node)
        name, text = self._around(node)
        offset = start - (self._span(self.scope[-1][1])[0] if self.scope else 0)
        key = f"{self.module} {name} {text} {operator} {offset} {after}"
        digest = hashlib.sha256(key.encode()).hexdigest()[:12]
        place = (self.module, name, node.lineno, operator, ast.unparse(node), after)
        self.found.append(Mutant(*place, (start, end), digest))

    def _around(self, node: Any) -> tuple[str, str]:
        """The outermost function around a node and its text; outside of all, the node's own."""
        for i, (_, part) in enumerate(self.scope):
            if isinstance(part, ast.FunctionDef):
                return ".".join(name for name, _ in self.scope[: i + 1]), ast.unparse(part)
        return "", ast.unparse(node)

    def _span(self, node: Any) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset
