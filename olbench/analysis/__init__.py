"""What runs show: results as frames, statistics, comparisons, verdicts on published numbers, forensics.

In: folders of records, and the numbers and claims of a paper.
Out: numbers, tests and verdicts as values; nothing is printed or formatted here.
"""
