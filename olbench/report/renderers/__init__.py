"""Renderers: a report as text, Markdown, LaTeX, HTML, CSV and JSON, on one screen, and in notebooks."""
