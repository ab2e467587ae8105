"""The templates, style and script of the HTML page, and what they need computed."""
