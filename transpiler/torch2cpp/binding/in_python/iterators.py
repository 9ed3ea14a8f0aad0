"""Iterators of user classes, and those of `itertools` and `functools`, as generators."""

# mypy: ignore-errors
from __future__ import annotations


def by_next(iterator):
    """The items of an object with `__next__`."""
    while True:
        try:
            item = iterator.__next__()
        except StopIteration:
            return
        yield item


def next_or(iterator, default):
    """`next(iterator, default)` of an object with `__next__`."""
    try:
        return iterator.__next__()
    except StopIteration:
        return default


def chain(*iterables):
    """`itertools.chain`"""
    for iterable in iterables:
        yield from iterable


def chain_from_iterable(iterables):
    """`itertools.chain.from_iterable`"""
    for iterable in iterables:
        yield from iterable


def islice_to(iterable, stop):
    """`itertools.islice(iterable, stop)`"""
    if stop < 0:
        raise ValueError("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if stop > 0:
        taken = 0
        for item in iterable:
            yield item
            taken += 1  # noqa: SIM113
            if taken >= stop:
                break


def groupby(iterable, key):
    """`itertools.groupby`: a group is complete before it is handed out."""
    group = []
    keys = []  # of the group: a list, since there is no first value that all types of keys could start with
    for item in iterable:
        now = key(item)
        if group and keys[0] != now:
            yield keys[0], iter(group)
            group, keys = [], []
        group.append(item)
        keys.append(now)
    if group:
        yield keys[0], iter(group)


def groupby_itself(iterable):
    """`itertools.groupby` without a key."""
    group = []
    for item in iterable:
        if group and group[0] != item:
            yield group[0], iter(group)
            group = []
        group.append(item)
    if group:
        yield group[0], iter(group)


def takewhile(predicate, iterable):
    """`itertools.takewhile`"""
    for item in iterable:
        if not predicate(item):
            break
        yield item


def dropwhile(predicate, iterable):
    """`itertools.dropwhile`"""
    dropping = True
    for item in iterable:
        if dropping and predicate(item):
            continue
        dropping = False
        yield item


def filterfalse(predicate, iterable):
    """`itertools.filterfalse`"""
    for item in iterable:
        if not predicate(item):
            yield item


def compress(data, selectors):
    """`itertools.compress`"""
    for item, selected in zip(data, selectors):
        if selected:
            yield item


def starmap(function, iterable):
    """`itertools.starmap`"""
    for arguments in iterable:
        yield function(*arguments)


class Count:
    """`itertools.count`: an object, since it is often kept in an attribute."""

    def __init__(self, start=0, step=1):
        self.n = start
        self.step = step

    def __iter__(self):
        return self

    def __next__(self):
        n = self.n
        self.n = n + self.step
        return n


def repeat(item, times):
    """`itertools.repeat(item, times)`"""
    for _ in range(times):
        yield item


def repeat_forever(item):
    """`itertools.repeat(item)`"""
    while True:
        yield item


def accumulate(iterable, function):
    """`itertools.accumulate(iterable, function)`"""
    started = False
    total = None
    for item in iterable:
        total = function(total, item) if started else item
        started = True
        yield total


def accumulate_from(iterable, function, initial):
    """`itertools.accumulate(iterable, function, initial=initial)`"""
    total = initial
    yield total
    for item in iterable:
        total = function(total, item)
        yield total


def pairwise(iterable):
    """`itertools.pairwise`"""
    started = False
    before = None
    for item in iterable:
        if started:
            yield before, item
        before = item
        started = True


def columns(rows):
    """`zip(*rows)`"""
    if rows:
        for i in range(min([len(row) for row in rows])):
            yield tuple([row[i] for row in rows])


def zip_longest_of_two(a, b, fillvalue):
    """`itertools.zip_longest(a, b, fillvalue=...)`"""
    left, right = list(a), list(b)
    for i in range(max(len(left), len(right))):
        yield (left[i] if i < len(left) else fillvalue), (right[i] if i < len(right) else fillvalue)


def islice(iterable, start, stop, step):
    """`itertools.islice(iterable, start, stop, step)`"""
    if start < 0 or stop < 0:
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if step < 1:
        raise ValueError("Step for islice() must be a positive integer or None.")
    at, wanted = 0, start
    if stop > 0:
        for item in iterable:
            if at == wanted:
                yield item
                wanted += step
            at += 1
            if at >= stop:
                break


def islice_from(iterable, start, step):
    """`itertools.islice(iterable, start, None, step)`"""
    if start < 0:
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if step < 1:
        raise ValueError("Step for islice() must be a positive integer or None.")
    at, wanted = 0, start
    for item in iterable:
        if at == wanted:
            yield item
            wanted += step
        at += 1  # noqa: SIM113


def reduce(function, iterable):
    """`functools.reduce(function, iterable)`"""
    items = list(iterable)
    if not items:
        raise TypeError("reduce() of empty iterable with no initial value")
    value = items[0]
    for item in items[1:]:
        value = function(value, item)
    return value


def reduce_from(function, iterable, initial):
    """`functools.reduce(function, iterable, initial)`"""
    value = initial
    for item in iterable:
        value = function(value, item)
    return value
