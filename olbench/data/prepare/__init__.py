"""From raw columns and labels to what is learnt from: labels, coding, scaling, duplicates."""
