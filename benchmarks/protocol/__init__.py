"""The measurement protocol of the benchmarks: fresh processes, arms in turns, records.

``suite`` runs the rows of a script, ``comparison`` measures the arms of one row, ``timing`` has the
clocks, ``conditions`` describes the machine, and ``record`` writes the Markdown file.
"""
