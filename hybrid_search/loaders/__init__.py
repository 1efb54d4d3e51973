"""Files to documents. Each module makes one loader: its ``suffixes``, and ``load(path, id)``."""
