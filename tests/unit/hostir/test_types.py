"""Which types share a variable."""

from __future__ import annotations

from torch2cpp.hostir.fit import fits
from torch2cpp.hostir.types import (
    FLOAT,
    INT,
    NONE,
    STR,
    OptionalType,
    RecordType,
    Type,
    UnionType,
    join,
    join_or_union,
)


def if_there(t: Type) -> OptionalType:
    return OptionalType(t, absent=True)


def record(**fields: Type) -> RecordType:
    return RecordType("dict", "", tuple(fields.items()))


def test_a_dict_that_lacks_a_key_joins_one_where_it_may_be_missing() -> None:
    both = record(a=INT, b=if_there(STR))
    assert join(record(a=INT), both) == both
    assert join(both, record(a=INT, b=STR)) == both
    assert join(record(a=INT, c=FLOAT), both) == record(a=INT, c=if_there(FLOAT), b=if_there(STR))


def test_dicts_with_other_keys_stay_apart_where_none_may_be_missing() -> None:
    assert join(record(a=INT), record(a=INT, b=STR)) is None
    assert isinstance(join_or_union(record(a=INT), record(a=INT, b=STR)), UnionType)


def test_another_order_of_keys_does_not_join() -> None:
    assert join(record(a=INT, b=if_there(STR)), record(b=STR, a=INT)) is None


def test_none_is_no_missing_key() -> None:
    assert join(if_there(INT), NONE) is None
    assert join(if_there(INT), OptionalType(INT)) is None
    assert not fits(NONE, if_there(INT))
    assert not fits(OptionalType(INT), if_there(INT))
    assert fits(INT, if_there(INT))
