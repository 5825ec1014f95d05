# mypy: disable-error-code=no-untyped-call
"""Functions that only compiled code calls: no machine code of their own, nothing on disk.

Numba makes of each function a library with machine code, a way in from Python for its arguments and
a file in the cache. Of what is always inlined nothing but the code for the caller to take in is
needed; the rest is half of the time that a loop takes to compile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from gim._compile.quick_flags import Function


class Library(JITCodeLibrary):
    """Code to be linked into that of callers, which is where it is optimised and made to run."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """There is no machine code."""
        return 0

    @property
    def codegen(self) -> Any:
        """The code generator, but for environments, which are the caller's to set."""
        return _WithoutEnvironments(self._codegen)


class _WithoutEnvironments:
    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        pass


class InnerCompiler(Compiler):
    """Numba's compiler, into a `Library`."""

    def define_pipelines(self) -> Any:
        """As always, with our library."""
        codegen = self.state.targetctx.codegen()
        self.state.library = Library(codegen, self.state.func_id.func_qualname)
        return super().define_pipelines()


class Inner(Function):
    """A function for compiled callers. Called from Python, it is compiled again, with a way in."""

    way_in: Callable[[Any], Any]  # makes a function for Python of one of these

    def __init__(
        self,
        py_func: Any,
        locals: Any = None,
        targetoptions: Any = None,
        pipeline_class: Any = InnerCompiler,
    ) -> None:
        options = (targetoptions or {}) | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(py_func, locals or {}, options, pipeline_class)

    def __call__(self, *args: Any) -> Any:
        """Run the version for Python."""
        return self.from_python(*args)

    @cached_property
    def from_python(self) -> Any:
        """The same function with a way in."""
        return type(self).way_in(self)
