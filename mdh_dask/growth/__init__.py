"""How trees grow: samples, passes over the rows, and the loop between them."""
