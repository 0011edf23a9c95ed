"""One module for each kind of case: it plays the case on the product and fills a record."""
