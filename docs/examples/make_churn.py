"""Makes churn.csv, an invented table of customers: `python docs/examples/make_churn.py`."""

import csv
import random
from datetime import date, timedelta
from pathlib import Path

ROWS = 2000
HEADINGS = ("customer", "signed_up", "plan", "region", "age", "minutes", "support_calls", "churned")
PLANS = {"basic": 0.4, "family": 0.0, "premium": -0.5, "student": 0.6}


def make_rows():
    draw = random.Random(2026)
    for number in range(ROWS):
        plan = draw.choice(list(PLANS))
        signed_up = date(2020, 1, 1) + timedelta(days=draw.randrange(1800))
        minutes, calls = draw.gammavariate(2.0, 90.0), draw.choice([0, 0, 0, 1, 1, 2, 3, 5])
        risk = PLANS[plan] + 0.7 * calls - 0.006 * minutes - 0.0006 * (signed_up - date(2020, 1, 1)).days
        churned = risk + draw.gauss(0.0, 0.7) > 1.55
        yield [
            f"C{number:05d}",
            signed_up.isoformat(),
            plan,
            draw.choice(["north", "south", "east", "west"]) if draw.random() > 0.02 else "",
            "" if draw.random() < 0.05 else draw.randint(18, 80),
            f"{minutes:.1f}",
            calls,
            "yes" if churned else "no",
        ]


if __name__ == "__main__":
    with open(Path(__file__).with_name("churn.csv"), "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEADINGS)
        table.writerows(make_rows())
