#!/usr/bin/env python3
"""Writes the JSON Schema of mfuplan's answers as types: make_types.py SCHEMA.json ANSWERS.py"""
import json
import keyword
import sys

PLAIN = {"number": "float", "integer": "int", "string": "str", "boolean": "bool", "null": "None"}


def class_name(words):
    return "".join(part.capitalize() for part in words.replace("-", "_").split("_"))


class Writer:
    def __init__(self, schema):
        self.definitions = schema.get("$defs", schema.get("definitions", {}))
        self.classes = {}

    def type_of(self, s, name):
        if "$ref" in s:
            target = s["$ref"].rsplit("/", 1)[-1]
            return self.type_of(self.definitions[target], target)
        kind = s.get("type")
        if isinstance(kind, list):
            return " | ".join(sorted({self.type_of({**s, "type": k}, name) for k in kind}, key=lambda t: t == "None"))
        for either in ("anyOf", "oneOf"):
            if either in s:
                return " | ".join(dict.fromkeys(self.type_of(o, name) for o in s[either]))
        if kind == "object" and s.get("properties"):
            return self.object(s, name)
        if kind == "object":
            return "dict[str, Any]"
        if kind == "array":
            return f"list[{self.type_of(s.get('items', {}), name + '_item')}]"
        return PLAIN.get(kind, "Any")

    def object(self, s, name):
        name = class_name(name)
        fields = {key: (self.type_of(value, f"{name}_{key}"), value.get("description", ""))
                  for key, value in s["properties"].items()}
        while name in self.classes and self.classes[name] != fields:
            name += "_"
        self.classes[name] = fields
        return name

    def write(self, out):
        out.write('"""What each answer of mfuplan holds; written from `mfuplan --schema`."""\n'
                  "from __future__ import annotations\n\nfrom typing import Any, TypedDict\n")
        for name, fields in self.classes.items():
            out.write(f"\n{name} = TypedDict({name!r}, {{\n")
            for key, (kind, meaning) in fields.items():
                out.write(f"    {key!r}: {kind!r},  # {meaning}\n")
            out.write("}, total=False)\n")


def main(schema_path, out_path):
    with open(schema_path) as f:
        schema = json.load(f)
    w = Writer(schema)
    for i, answer in enumerate(schema.get("oneOf", schema.get("anyOf", []))):
        title = answer.get("title")
        if not title and "$ref" in answer:
            title = answer["$ref"].rsplit("/", 1)[-1]
        w.type_of(answer, f"{title or 'answer_%d' % i}_answer")
    if not w.classes:
        sys.exit(f"{schema_path}: no answer is described")
    with open(out_path, "w") as out:
        w.write(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
