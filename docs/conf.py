"""Settings of the documentation: ``make docs`` builds it into docs/_build/html.

Nothing is fetched, neither by the build (unless it runs on Read the Docs) nor by the built pages:
the theme brings its own assets, and formulas are MathML (`mathml.py`).
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import linkwise
import linkwise.cli

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import commands_page  # noqa: E402
from claims_page import page_of  # noqa: E402

EXAMPLES = HERE.parent / "examples"

project = "linkwise"
author = "The linkwise developers"
version = release = linkwise.__version__
html_title = f"linkwise {version}"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "mathml",
    "llms",
]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "README.md", "auto_examples/**/*.ipynb", "auto_examples/**/*.json"]
templates_path = ["_templates"]
root_doc = "index"

# ------------------------------------------------------------------ pages in Markdown

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"  # copy all lines of a command

# ------------------------------------------------------------------ other projects

# Links to their documentation need their inventories, which the build fetches only if it is asked
# to (on Read the Docs); without them these names are plain text.
intersphinx_mapping = {}
if os.environ.get("LINKWISE_DOCS_ONLINE") or os.environ.get("READTHEDOCS"):
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "pandas": ("https://pandas.pydata.org/docs", None),
    }

# ------------------------------------------------------------------ reference

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings name types and shapes
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"  # `fit()` beside the page of a class, not its full name
numpydoc_show_class_members = False  # the template of a class lists them
numpydoc_xref_param_type = False
default_role = "py:obj"

# ------------------------------------------------------------------ what came of the papers

_page = HERE / "papers" / "claims.md"
_ledger = HERE.parent / "papers" / "CLAIMS.md"
_text = "# Claims\n\nSee `papers/CLAIMS.md` in the repository.\n"  # papers/ is not in an sdist
if _ledger.exists():
    _text = page_of(_ledger.read_text(encoding="utf-8"))
if not _page.exists() or _page.read_text(encoding="utf-8") != _text:
    _page.write_text(_text, encoding="utf-8")

# ------------------------------------------------------------------ the command line

_commands = HERE / "reference" / "command-line.md"
_text = commands_page.page_of(linkwise.cli.app)
if not _commands.exists() or _commands.read_text(encoding="utf-8") != _text:
    _commands.write_text(_text, encoding="utf-8")

# ------------------------------------------------------------------ gallery

if (EXAMPLES / "GALLERY_HEADER.rst").exists() or (EXAMPLES / "README.rst").exists():
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": str(EXAMPLES),
        "gallery_dirs": "auto_examples",
        "filename_pattern": r"plot_",
        "subsection_order": [
            str(Path("..") / "examples" / name)
            for name in ("start", "knowledge", "questions", "tools", "scale")
        ],
        "backreferences_dir": "reference/backreferences",
        "doc_module": ("linkwise",),
        "reference_url": {"linkwise": None},
        "show_memory": False,
        "remove_config_comments": True,
        "download_all_examples": False,
        "min_reported_time": 5,
        "plot_gallery": "LINKWISE_DOCS_QUICK" not in os.environ,
        "matplotlib_animations": False,
    }
    warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

# ------------------------------------------------------------------ the pages

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["linkwise.css"]
html_js_files = ["linkwise.js"]
html_show_sourcelink = False
html_sidebars = {"index": [], "reference/**": ["sidebar-nav-bs"]}
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "logo": {"text": "linkwise"},
}
project_copyright = "The linkwise developers"
