"""mfuplan: plan the memory, the time and the MFU of a training run before it is launched.

    import mfuplan
    p = mfuplan.plan(model="llama-3-8b", gpu="h100-sxm", batch=2, runtime="compile", checkpoint="full")
    p.step_time_s, p.mfu, p.fits
    p.json("memory")                      # what `mfuplan --json -e memory` prints
    mfuplan.sweep(model="gpt2", gpu="rtx4070", batch="1..32*2", columns=["mfu"], where="fits")

Keys are those of `set`, results those of `help results`; units are SI base units (bytes, seconds, FLOP), what
is unknown is nan.  Everything is computed by the C library; nothing here decides anything.
"""
from __future__ import annotations

import ctypes as _c
import html as _html
import itertools as _itertools
import json as _json
import math as _math
import os as _os
import tempfile as _tempfile
import threading as _threading
from typing import Any, Iterable, Mapping, Sequence

from . import _library
from ._library import Error as _Error, lib as _lib

__all__ = ["plan", "sweep", "Plan", "Rows", "Model", "MfuplanError", "models", "gpus", "results", "from_hf",
           "from_torch", "from_config", "version"]

_ANALYTIC, _SIMULATED = 0, 1


class MfuplanError(ValueError):
    """A name, a value or a file that cannot be used; `suggestion` is the nearest known name, or None."""

    def __init__(self, message: str, suggestion: str | None = None):
        super().__init__(message + (f" (did you mean {suggestion!r}?)" if suggestion else ""))
        self.suggestion = suggestion


def _fail(error: _Error) -> MfuplanError:
    def text(field: bytes) -> str:
        return field.decode(errors="replace")

    place = text(error.file) + (f":{error.line}" if error.line else "") + (": " if error.file else "")
    return MfuplanError(place + text(error.message), text(error.suggestion) or None)


def _call(name: str, *arguments):
    """A function whose last argument is an error: its result, or the error raised."""
    error = _Error()
    result = _lib[name](*arguments, _c.byref(error))
    if result in (None, -1) or error.code:
        raise _fail(error) if error.code else MemoryError("mfuplan: out of memory")
    return result


def _text_of(name: str, *arguments) -> bytes:
    """A text that the library made and the caller frees."""
    pointer = _call(name, *arguments)
    try:
        return _c.string_at(pointer)
    finally:
        _library.free(pointer)


def version() -> str:
    """The version of the library."""
    return _lib["version"]().decode()


__version__ = version()


class _Handle:
    """Something of the library's, freed with this object."""

    def __init__(self, pointer, free, *needs):
        if not pointer:
            raise MemoryError("mfuplan: out of memory")
        self.pointer, self._free, self._needs = pointer, free, needs

    def __del__(self):
        if getattr(self, "pointer", None):
            _lib[self._free](self.pointer)
            self.pointer = None


class _Catalog(_threading.local):
    """Models and GPUs; one catalog for each thread, as the library asks."""

    handle = None

    def get(self) -> _Handle:
        if self.handle is None:
            folder = _library.data_dir()
            self.handle = _Handle(_call("open", folder.encode() if folder else None, None), "close")
        return self.handle


_catalog = _Catalog()


def _names(of: str) -> list[str]:
    n = _c.c_size_t()
    list_ = _lib[of](_catalog.get().pointer, _c.byref(n))
    return [list_[i].decode() for i in range(n.value)]


def models() -> list[str]:
    """The names of the models that are known."""
    return _names("models")


def gpus() -> list[str]:
    """The names of the GPUs that are known."""
    return _names("gpus")


def results() -> dict[str, str]:
    """The names of the results, with their meanings."""
    meaning, all_, i = _c.c_char_p(), {}, 0
    while name := _lib["result_name"](i, _c.byref(meaning)):
        all_[name.decode()] = (meaning.value or b"").decode()
        i += 1
    return all_


class Model:
    """A model that no name stands for: a config.json, and settings that belong to it."""

    def __init__(self, config: Mapping[str, Any] | None = None, name: str | None = None, **settings):
        self.name, self.settings, self._folder = name, settings, None
        if config is not None:
            self._folder = _tempfile.TemporaryDirectory(prefix="mfuplan-")
            self.name = _os.path.join(self._folder.name, "config.json")
            with open(self.name, "w") as out:
                _json.dump(dict(config), out, default=str)


def from_hf(config) -> Model:
    """A model of transformers: its config, the model itself, a dict, or the path of a config.json.

    Sequences are as long as max_position_embeddings, but at most 8192: that is no length to train with.  A plan's repr
    says which it took; give seq."""
    if isinstance(config, (str, _os.PathLike)):
        return Model(name=_os.fspath(config))
    config = getattr(config, "config", config)
    as_dict = config if isinstance(config, Mapping) else config.to_dict()
    return Model({**as_dict, "model_type": as_dict.get("model_type") or getattr(config, "model_type", None)})


def from_torch(module) -> Model:
    """A torch module with a `config`: transformers' or nanoGPT's.  What it holds must be what is planned: another
    number of parameters is an error, not a guess."""
    config = getattr(module, "config", None)
    if config is None:
        raise TypeError(f"{type(module).__name__} has no config: mfuplan plans architectures it has a file for "
                        "(mfuplan.models()), not arbitrary modules; give model='NAME' and its dimensions")
    if hasattr(config, "to_dict"):
        model = from_hf(config)
    elif hasattr(config, "n_layer") and hasattr(config, "block_size"):
        model = Model(name="gpt2", n_layer=config.n_layer, n_head=config.n_head, n_embd=config.n_embd,
                      vocab_size=config.vocab_size, seq=config.block_size,
                      **({"bias": int(config.bias)} if hasattr(config, "bias") else {}))
    else:
        raise TypeError(f"the config of {type(module).__name__} is neither transformers' nor nanoGPT's")
    have = sum(p.numel() for p in {id(p): p for p in module.parameters()}.values())
    planned = _Scenario(model, "a100-80gb-sxm", {}).plan(False)["params"]
    if abs(planned / have - 1) > 1e-3:
        raise MfuplanError(f"{type(module).__name__} has {have:,} parameters, its config is planned with {planned:,.0f}")
    return model


def from_config(path: str | _os.PathLike, format: str | None = None, **settings) -> Plan:
    """The plan of another program's configuration (nanoGPT, Megatron, DeepSpeed, torchtitan, axolotl, ...): `model`
    and `gpu` among the settings are what the file leaves open.  Plan.not_modelled lists what it does not hold."""
    simulated = settings.pop("simulated", True)
    s = _Scenario(settings.pop("model", "gpt2"), settings.pop("gpu", "a100-80gb-sxm"), {})
    left_out: list[str] = []

    @_library.UNMODELLED
    def note(_context, name, value, why):
        left_out.append(" ".join(t.decode(errors="replace") for t in (name, value, why) if t))

    _call("import", s.handle.pointer, _os.fspath(path).encode(), format.encode() if format else None, note, None)
    s.set(settings)
    planned = s.plan(simulated)
    planned.not_modelled = left_out
    return planned


def _as_value(value) -> bytes:
    """What `set` takes."""
    if isinstance(value, bool):
        return b"on" if value else b"off"
    if isinstance(value, float):
        return repr(value).encode()
    return str(value).encode()


class _Scenario:
    def __init__(self, model, gpu: str, settings: Mapping[str, Any]):
        own = model.settings if isinstance(model, Model) else {}
        name = model.name if isinstance(model, Model) else model
        catalog = _catalog.get()
        self.handle = _Handle(_call("scenario_new", catalog.pointer, name.encode(), gpu.encode()), "scenario_free",
                              catalog, model)
        self.set({**own, **settings})

    def set(self, settings: Mapping[str, Any]) -> None:
        for key, value in settings.items():
            if value is not None:
                _call("set", self.handle.pointer, key.encode(), _as_value(value))

    def plan(self, simulated: bool) -> Plan:
        return Plan(self, simulated)


class Plan:
    """One plan.  Every result is an attribute and an item: plan.step_time_s, plan["mfu"]."""

    not_modelled: Sequence[str] = ()

    def __init__(self, scenario: _Scenario, simulated: bool = True):
        self._scenario = scenario
        self._handle = _Handle(_lib["plan_new"](), "plan_free", scenario)
        _call("run", self._handle.pointer, scenario.handle.pointer, _SIMULATED if simulated else _ANALYTIC)

    def __getitem__(self, name: str) -> float:
        value = _c.c_double()
        _call("result", self._handle.pointer, name.encode(), _c.byref(value))
        return value.value

    def __getattr__(self, name: str) -> float:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except MfuplanError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *results()]

    def ask(self, expression: str) -> float:
        """An expression over results and settings: ask("fits and mfu > 40%") is 1.0 or 0.0."""
        value = _c.c_double()
        _call("ask", self._handle.pointer, expression.encode(), _c.byref(value))
        return value.value

    def setting(self, key: str) -> str:
        """The value of a key as text, once everything that follows is worked out."""
        buffer = _c.create_string_buffer(128)
        _call("text", self._scenario.handle.pointer, key.encode(), buffer, len(buffer))
        return buffer.value.decode()

    def json(self, answer: str = "plan") -> dict[str, Any]:
        """The object of `mfuplan --json -e ANSWER`: plan, memory, kernels, step, mfu, metrics, roofline."""
        return _json.loads(_text_of("json", self._handle.pointer, answer.encode()))

    def html(self) -> str:
        """The page that `report` writes: memory, a step, the roofline, the meters, of the simulated plan, which this one is
        afterwards."""
        return _text_of("html", self._handle.pointer).decode()

    def to_dict(self) -> dict[str, float]:
        """All results by name."""
        return {name: self[name] for name in results()}

    def _fits(self) -> str:
        fits = self["fits"]
        return "unknown whether it fits" if fits != fits else "fits" if fits > 0 else "does not fit"

    def __repr__(self) -> str:
        return (f"<mfuplan.Plan: {self.setting('batch')} × seq {self.setting('seq')}, step {self['step_time_s']:.4g} s, MFU {100 * self['mfu']:.1f} %, "
                f"{self['smi_used_bytes'] / 2**30:.2f} GiB, {self._fits()}>")

    def _repr_html_(self) -> str:
        return (f"<p>{_html.escape(repr(self))}</p><iframe style='width:100%;height:36em;border:0' "
                f"srcdoc=\"{_html.escape(self.html())}\"></iframe>")


def plan(model="gpt2", gpu: str = "a100-80gb-sxm", *, simulated: bool = True, **settings) -> Plan:
    """Plans a run.  `model` is a name, the path of a file, or a Model; settings are the keys of `set`.

    simulated=False leaves out launch queue and caching allocator: microseconds instead of a millisecond."""
    return _Scenario(model, gpu, settings).plan(simulated)


class Rows(list):
    """Rows of a sweep: dicts with the axes and the columns."""

    def dataframe(self):
        """The same for pandas."""
        import pandas

        return pandas.DataFrame(list(self))

    def _repr_html_(self) -> str:
        if not self:
            return "<p>no row</p>"
        head = "".join(f"<th>{_html.escape(k)}</th>" for k in self[0])
        body = "".join("<tr>" + "".join(f"<td>{_html.escape(f'{v:.5g}' if isinstance(v, float) else str(v))}</td>"
                                        for v in row.values()) + "</tr>" for row in self[:60])
        return f"<table><tr>{head}</tr>{body}</table>"


_PARTS = 4  # for each worker, so that none waits long for the others
_USUAL = ("step_time_s", "tokens_per_s", "mfu", "smi_used_bytes", "fits")


def _is_axis(value) -> bool:
    return isinstance(value, (list, tuple, range)) or (isinstance(value, str) and any(s in value for s in ("..", ",")))


def _axis_text(value) -> str:
    return value if isinstance(value, str) else ",".join(_as_value(v).decode() for v in value)


def _rows_of(s: _Scenario, axes: Mapping[str, Any], columns: Sequence[str], where, best, largest, simulated, threads,
             shard=(0, 1)):
    handle = _Handle(_lib["sweep_new"](s.handle.pointer), "sweep_free", s)
    for key, values in axes.items():
        _call("sweep_axis", handle.pointer, key.encode(), _axis_text(values).encode())
    for column in columns:
        _call("sweep_column", handle.pointer, column.encode())
    if where:
        _call("sweep_where", handle.pointer, where.encode())
    if best:
        _lib["sweep_best"](handle.pointer, best, largest)
    _call("sweep_shard", handle.pointer, *shard)
    _call("sweep_run", handle.pointer, _SIMULATED if simulated else _ANALYTIC, threads)
    rows = []
    text = _c.create_string_buffer(128)
    for i in range(_lib["sweep_rows"](handle.pointer)):
        own = _Handle(_lib["sweep_scenario"](handle.pointer, i), "scenario_free", handle)
        row: dict[str, Any] = {}
        for key in axes:
            if key in ("gpu", "model"):
                row[key] = None
                continue
            _call("text", own.pointer, key.encode(), text, len(text))
            word = text.value.decode()
            try:
                row[key] = int(word) if word.isdigit() else float(word)
            except ValueError:
                row[key] = word
        for k, column in enumerate(columns):
            value = _lib["sweep_get"](handle.pointer, i, k)
            row[column] = value if not _math.isnan(value) else None
        rows.append((_lib["sweep_combination"](handle.pointer, i), row))
    return rows


def sweep(model="gpt2", gpu: str | Sequence[str] = "a100-80gb-sxm", *, columns: Sequence[str] = _USUAL,
          where: str | None = None, best: int = 0, largest: bool = True, simulated: bool = False, threads: int = 0,
          client=None, **settings) -> Rows:
    """Plans every combination.  A setting with several values (a list, "1..64*2", "eager,compile") is an axis, the
    first the slowest; `gpu` and `model` may be lists, too.  `best` keeps only so many rows, by the first column.

    With `client`, a dask.distributed.Client, the combinations are spread over its workers, in equal parts."""
    gpus_ = [gpu] if isinstance(gpu, str) else list(gpu)
    models_ = [model] if isinstance(model, (str, Model)) else list(model)
    axes = {k: v for k, v in settings.items() if _is_axis(v)}
    fixed = {k: v for k, v in settings.items() if not _is_axis(v)}
    options = (tuple(columns), where, best, largest, simulated)
    jobs = []
    for m, g in _itertools.product(models_, gpus_):
        named = {**({"model": m} if len(models_) > 1 else {}), **({"gpu": g} if len(gpus_) > 1 else {})}
        jobs.append((m, g, named, fixed, axes, options))
    if client is not None:
        shards = _PARTS * max(1, len(client.nthreads()))
        parts = client.gather(client.map(_job, [(*job, 1, (i, shards)) for job in jobs for i in range(shards)],
                                         pure=False))
        parts = [sorted(_itertools.chain(*parts[k:k + shards]), key=lambda r: r[0]) for k in range(0, len(parts), shards)]
    else:
        parts = [_job((*job, threads, (0, 1))) for job in jobs]
    rows = Rows(row for part in parts for _, row in part)
    if best and (client is not None or len(parts) > 1):
        rows = Rows(sorted(rows, key=lambda r: (r[columns[0]] is None, (-1 if largest else 1) * (r[columns[0]] or 0)))[:best])
    return rows


def _job(job):
    m, g, named, fixed, axes, (columns, where, best, largest, simulated), threads, shard = job
    rows = _rows_of(_Scenario(m, g, fixed), axes, columns, where, best, largest, simulated, threads, shard)
    return [(number, {**named, **row}) for number, row in rows]
