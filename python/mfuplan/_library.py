"""The functions of mfuplan.h, through ctypes."""
import ctypes as c
import os

_HERE = os.path.dirname(os.path.abspath(__file__))


class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("line", c.c_int), ("column", c.c_int), ("message", c.c_char * 640),
                ("file", c.c_char * 256), ("suggestion", c.c_char * 96)]


UNMODELLED = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_char_p, c.c_char_p)
_text, _handle, _error = c.c_char_p, c.c_void_p, c.POINTER(Error)
_PROTOTYPES = {
    "version": (_text, []),
    "open": (_handle, [_text, _text, _error]),
    "close": (None, [_handle]),
    "models": (c.POINTER(_text), [_handle, c.POINTER(c.c_size_t)]),
    "gpus": (c.POINTER(_text), [_handle, c.POINTER(c.c_size_t)]),
    "scenario_new": (_handle, [_handle, _text, _text, _error]),
    "scenario_copy": (_handle, [_handle]),
    "scenario_free": (None, [_handle]),
    "set": (c.c_int, [_handle, _text, _text, _error]),
    "unset": (c.c_int, [_handle, _text, _error]),
    "value": (c.c_int, [_handle, _text, c.POINTER(c.c_double), _error]),
    "text": (c.c_int, [_handle, _text, _text, c.c_size_t, _error]),
    "import": (c.c_int, [_handle, _text, _text, UNMODELLED, c.c_void_p, _error]),
    "plan_new": (_handle, []),
    "plan_free": (None, [_handle]),
    "run": (c.c_int, [_handle, _handle, c.c_int, _error]),
    "result": (c.c_int, [_handle, _text, c.POINTER(c.c_double), _error]),
    "result_name": (_text, [c.c_size_t, c.POINTER(_text)]),
    "ask": (c.c_int, [_handle, _text, c.POINTER(c.c_double), _error]),
    "json": (_handle, [_handle, _text, _error]),
    "html": (_handle, [_handle, _error]),
    "sweep_new": (_handle, [_handle]),
    "sweep_free": (None, [_handle]),
    "sweep_axis": (c.c_int, [_handle, _text, _text, _error]),
    "sweep_where": (c.c_int, [_handle, _text, _error]),
    "sweep_column": (c.c_int, [_handle, _text, _error]),
    "sweep_best": (None, [_handle, c.c_size_t, c.c_bool]),
    "sweep_shard": (c.c_int, [_handle, c.c_size_t, c.c_size_t, _error]),
    "sweep_combination": (c.c_size_t, [_handle, c.c_size_t]),
    "sweep_run": (c.c_int, [_handle, c.c_int, c.c_int, _error]),
    "sweep_rows": (c.c_size_t, [_handle]),
    "sweep_get": (c.c_double, [_handle, c.c_size_t, c.c_size_t]),
    "sweep_scenario": (_handle, [_handle, c.c_size_t]),
}


def _find():
    """Beside the package, as pip installs it, or where MFUPLAN_LIBRARY says."""
    named = os.environ.get("MFUPLAN_LIBRARY")
    path = named or os.path.join(_HERE, "_mfuplan.so")
    if not os.path.exists(path):
        raise ImportError(f"mfuplan's library is not at {path}: install the package with pip, or set MFUPLAN_LIBRARY")
    return c.CDLL(path)


def _bind(library):
    functions = {}
    for name, (result, arguments) in _PROTOTYPES.items():
        f = getattr(library, "mfuplan_" + name)
        f.restype, f.argtypes = result, arguments
        functions[name] = f
    return functions


lib = _bind(_find())
free = c.CDLL(None).free
free.restype, free.argtypes = None, [c.c_void_p]


def data_dir():
    """models/ and gpus/: MFUPLAN_DATA_DIR, else those of the package; None: as the library was built."""
    named = os.environ.get("MFUPLAN_DATA_DIR")
    own = os.path.join(_HERE, "data")
    return named or (own if os.path.isdir(own) else None)
