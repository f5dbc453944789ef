"""Large results: kept whole on disk, shown as previews, read again with ``read_result``."""
