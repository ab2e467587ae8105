"""From the record of a run to tables, figures, verdicts and a page."""
