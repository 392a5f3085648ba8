"""Grand Exchange: read a basket's first half, place limit offers, be graded on the second."""
