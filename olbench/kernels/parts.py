"""A cheaper compiler for functions that only compiled code calls.

For every function numba makes two wrappers, optimises it on its own and turns it into machine code, once for
each combination of types, and does it again where the function becomes part of a kernel. Skipping the first
time takes 30 to 40 % off the compilation of a first run; the machine code is the same.
"""

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.types import unliteral


class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into that of its callers, and only there optimised and made executable."""

    def _optimize_final_module(self) -> None:
        """Leave it to the caller."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):  # type: ignore[misc]
    _name = "olbench_part_lowering"

    def run_pass(self, state: Any) -> bool:
        flags = state.flags
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        # Numba finds the code of a function by its entry point, which has to be some built-in method: that of
        # a new object is like no other. `Helper` compiles anew what Python calls, so it is never used.
        no_function: dict[Any, Any] = {}
        entry_point = no_function.update
        state.targetctx.insert_user_function(entry_point, state.cr.fndesc, [state.library])
        state.reload_init.extend(getattr(state.library, "_reload_init", ()))  # in newer versions of numba
        state.cr = state.cr._replace(cfunc=entry_point)
        return True


class PartCompiler(Compiler):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        pipelines: list[Any] = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [
                (PartLowering if kind is NativeLowering else kind, text) for kind, text in pipeline.passes
            ]
            pipeline.finalize()
        return pipelines


def compile_part(function: Callable[..., Any], **how: Any) -> Any:
    """Let kernels and rules call a function, which is compiled as a part of theirs."""
    part = njit(error_model="numpy", pipeline_class=PartCompiler, **how)(function)
    find = part.get_call_template
    # Numba would compile it once more for each constant among its arguments.
    part.get_call_template = lambda arguments, named: find(
        [unliteral(kind) for kind in arguments], {name: unliteral(kind) for name, kind in named.items()}
    )
    return part
