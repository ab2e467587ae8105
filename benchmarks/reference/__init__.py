"""Every algorithm against the reference in C, on every data set: a campaign of hours."""
