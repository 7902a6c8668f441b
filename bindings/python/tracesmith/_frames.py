# SPDX-License-Identifier: Apache-2.0
"""Columns as NumPy arrays and pandas data frames. Imported when one is asked for."""
import numpy as np

_TYPES = {"l": np.int64, "L": np.uint64, "I": np.uint32, "C": np.uint8, "g": np.float64}


def _objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _missing(valid):
    return np.frombuffer(valid, dtype=np.uint8) == 0


def _texts(array, valid, words):
    """The texts whose numbers are in `array`."""
    if valid is None:
        return _objects(words)[array]
    missing = _missing(valid)
    texts = _objects([*words, None])[np.where(missing, len(words), array)]
    return texts


def numpy(columns):
    """{name: array} from the result of Stream.columns. If columns have the same name, the last one stays."""
    arrays = {}
    for name, kind, values, valid, words in columns:
        if kind not in _TYPES:
            arrays[name] = _objects(values)
            continue
        array = np.frombuffer(values, dtype=_TYPES[kind])
        if words is not None:
            arrays[name] = _texts(array, valid, words)
        else:
            arrays[name] = array if valid is None else np.ma.masked_array(array, mask=_missing(valid))
    return arrays


def _categories(pd, array, valid, words):
    """A categorical of the texts that occur. Two strings of a trace may be shown the same."""
    used = np.zeros(len(words), dtype=bool)
    used[array if valid is None else array[~_missing(valid)]] = True
    place = {}
    codes = np.full(len(words) + 1, -1, dtype=np.int32)
    for number in np.flatnonzero(used):
        codes[number] = place.setdefault(words[number], len(place))
    codes = codes.astype(np.min_scalar_type(-max(len(place), 1)))  # as pandas would choose: smaller on the way, too
    chosen = codes[array]
    if valid is not None:
        chosen[_missing(valid)] = -1
    return pd.Categorical.from_codes(chosen, categories=pd.Index(list(place), dtype="str"), validate=False)


def pandas(columns):
    """A data frame from the result of Stream.columns."""
    import pandas as pd

    nullable = {"g": pd.arrays.FloatingArray}
    series = []
    for _, kind, values, valid, words in columns:
        if kind not in _TYPES:
            # Bytes stay objects; text gets pandas' type for text.
            series.append(pd.Series(_objects(values), dtype="object") if kind == "Z" else pd.Series(values, dtype="str"))
            continue
        array = np.frombuffer(values, dtype=_TYPES[kind])
        if words is not None:
            array = _categories(pd, array, valid, words)
        elif valid is not None:
            array = nullable.get(kind, pd.arrays.IntegerArray)(array, _missing(valid))
        series.append(pd.Series(array, copy=False))
    # By number first: names may occur twice.
    frame = pd.DataFrame(dict(enumerate(series)), copy=False)
    frame.columns = [name for name, *_ in columns]
    return frame
