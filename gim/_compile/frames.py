"""What a compiled loop works on, taken apart once: ``opened(Frame(content))`` is the content."""

from __future__ import annotations

from gim._compile.backend import Frame, opened

__all__ = ["Frame", "opened"]
