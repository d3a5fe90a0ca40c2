"""Parts of any page: charts, tables, playback, presenter, status line, downloads. They know nothing of scheduling."""
