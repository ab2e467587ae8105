"""Where trials run: on this machine, or on a Dask cluster."""
