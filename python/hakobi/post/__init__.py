"""Looking at results where they lie: overviews (`hakobi index`), a server for browsers (`hakobi post`), pictures."""
