"""The types of columns as a value."""

from types import SimpleNamespace

import pytest
from stored import stored_and_read

from mdh_dask._storable import checked_value
from mdh_dask.columns import ColumnTypes
from mdh_dask.columns.drafts import keys_of

MIXED = ColumnTypes(("continuous", "ordinal", "categorical"), (None, ("low", "high"), ("a", "b", "c")), ("x", "y", "z"))


def test_types_come_back_from_json():
    assert stored_and_read(MIXED) == MIXED


def test_a_mask_tells_the_columns_of_a_kind():
    assert MIXED.mask("ordinal").tolist() == [False, True, False]
    assert ColumnTypes.continuous(2).mask("continuous").all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kinds": ("continuous", "ordinal", "colour")}, "column 2; got 'colour'"),
        ({"kinds": "continuous"}, r"expected tuple\[str, ...\] for kinds"),
        ({"levels": (None, None)}, "levels of 3 columns"),
        ({"levels": None}, "for levels of a ColumnTypes"),
        ({"levels": (("a",), None, None)}, "no levels for the continuous column 0"),
        ({"levels": (None, ("a", "a"), None)}, "levels of column 1 that differ"),
        ({"levels": (None, (1, 2), None)}, "for levels of a ColumnTypes"),
        ({"names": ("x", "y")}, "names of 3 columns"),
        ({"names": (1, 2, 3)}, "for names of a ColumnTypes"),
        ({"more": 1}, "expected kinds, levels, names of a ColumnTypes; got kinds, levels, names, more"),
    ],
)
def test_invalid_types_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        checked_value("ColumnTypes", vars(MIXED) | change)


@pytest.mark.slow
def test_names_of_many_columns_are_not_compared_with_each_other():
    class Name(str):
        compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            Name.compared += 1
            return str.__eq__(self, other)

    names = [Name(i) for i in range(1000)]
    assert keys_of(SimpleNamespace(column_names=names)) == tuple(names)
    assert Name.compared < 3 * len(names)
    with pytest.raises(ValueError, match="got 7 twice"):
        keys_of(SimpleNamespace(column_names=[*names, "7"]))
