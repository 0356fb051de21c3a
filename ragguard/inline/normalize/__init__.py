"""Reading a passage as a reader would take it, however it is written."""
