"""Values as they are after being stored."""

import json

from mdh_dask.io import codec


def stored_and_read(value):
    """Return what the codec gives back for a value."""
    form, arrays = codec.taken_apart(value)
    return codec.put_together(json.loads(json.dumps(form)), arrays.__getitem__)
