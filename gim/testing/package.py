"""Everything that a package adds, each thing checked by the kit of its kind."""

from __future__ import annotations

import importlib

from gim._base.registry import Registry


def check_package(name: str) -> list[str]:
    """Check all that a package, or a single module, has registered, at the `examples` it gives.

    The kit of a kind is found by its name, beside what the kind belongs to:
    `gim.testing.check_agent` for agents, `gim_lab.testing.check_claim` for claims.

    Args:
        name: of the package, as in `import my_gim`.

    Returns:
        What was checked: kind and spec string.

    Raises:
        AssertionError: with what does not hold, or if there is nothing to check.
    """
    importlib.import_module(name)
    checked = []
    for registry in [*Registry.every]:
        for each in registry.names():
            if f"{registry[each].__module__}.".startswith(f"{name}."):
                kits = importlib.import_module(f"{registry.package.split('.')[0]}.testing")
                kit = getattr(kits, f"check_{registry.kind}")
                for word in registry.examples(each):
                    kit(registry.make(word))
                    checked.append(f"{registry.kind} {word}")
    assert checked, f"{name} has registered nothing"
    return checked
