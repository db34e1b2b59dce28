"""Formulas as MathML, which every current browser draws by itself: no script, no font, no network.

docutils converts LaTeX to MathML in Python; this makes Sphinx use it. A formula that docutils
cannot convert is a warning that names it, and `make docs` treats warnings as errors.
"""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_log = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer as ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(_converted(node, as_block=False))
    raise nodes.SkipNode


def _display(writer: Any, node: nodes.math_block) -> None:
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    writer.body.append(
        f'<div class="math" tabindex="0">{number}{_converted(node, as_block=True)}</div>'
    )
    raise nodes.SkipNode


def _converted(node: nodes.Element, *, as_block: bool) -> str:
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as problem:
        _log.warning("formula %r: %s", node.astext(), problem, location=node)
        return f"<code>{escape(node.astext())}</code>"
