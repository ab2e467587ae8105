"""The templates, style and script of the HTML page, and the values they need."""
