"""The templates, style and script of the HTML page."""
