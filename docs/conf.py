"""The documentation site: ``make docs`` builds it into build/docs. Nothing that a page shows is fetched from another host."""

import os
import sys
from pathlib import Path

import hedgerow

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "hedgerow"
author = "The hedgerow developers"
project_copyright = f"{author}. Apache-2.0"
version = release = hedgerow.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "outside",
    "systems_listed",
    "executed",
    "mathml",
    "docstrings",
    "paper_map",
]
exclude_patterns = ["extensions", "_templates", "reproductions/rows", "reproductions/figures"]
templates_path = ["_templates"]
nitpicky = True

# Pages are Markdown that a code host shows as well; anchors are those that a code host gives to headings.
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
notebook_pages = ["tutorials/*"]
executed_pages = ["index", "start/*", "tutorials/*", "guide/*", "systems/*", "api/*"]

autosummary_generate = True
autodoc_typehints = "none"  # docstrings say types in words
toc_object_entries_show_parents = "hide"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_attributes_as_param_list = True

html_theme = "pydata_sphinx_theme"
html_title = "hedgerow"
html_static_path = ["_static"]
html_favicon = "_static/hedgerow.svg"
html_context = {"default_mode": "auto"}
html_css_files = ["site.css"]
html_js_files = ["filter.js"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "hedgerow", "image_light": "_static/hedgerow.svg", "image_dark": "_static/hedgerow.svg"},
    "navbar_align": "left",
    "navbar_end": ["version", "theme-switcher", "navbar-icon-links"],
    # The site knows of no code host: who builds it may name one.
    "icon_links": [
        {"name": "Repository", "url": url, "icon": "fa-solid fa-code"}
        for url in [os.environ.get("HEDGEROW_REPOSITORY")]
        if url
    ],
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
copybutton_exclude = ".linenos, .gp, .go"
copybutton_selector = "div:not(.output) > div.highlight > pre"
