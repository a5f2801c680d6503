"""Many weak clusterings made one: what they say of the rows is counted in a pass, and combined without the rows."""
