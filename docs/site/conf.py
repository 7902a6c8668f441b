# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx for the documentation site (make.py). Nothing in a page is loaded from another host."""
import os

project = "TraceSmith"
author = "TraceSmith maintainers"
version = release = os.environ["TRACESMITH_SITE_VERSION"]
extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
myst_heading_anchors = 6
# Code need not be whole; pages may begin with headings of the third level.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
highlight_language = "none"
html_theme = "furo"
html_title = f"TraceSmith {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_use_index = False
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_last_updated_fmt = None
html_theme_options = {"navigation_with_keys": True}
