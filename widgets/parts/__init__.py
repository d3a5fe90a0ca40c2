"""Parts of any page: charts, tables, playback, presenter, status line, files.

They know a run and its tables, no scheduler and no paper.
"""
