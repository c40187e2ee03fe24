# Results: recorders and writers.
