"""Validates a document against the subset of JSON Schema that schema/*.json use."""

import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "..", "schema")
KNOWN = {"$schema", "title", "description", "oneOf", "anyOf", "type", "properties", "required", "additionalProperties",
         "items", "enum", "const", "pattern", "minItems", "minimum", "maximum", "$ref", "$defs"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def errors(value, schema, root, at="$"):
    """What is wrong, as a list of lines."""
    if schema is True:
        return []
    if schema is False:
        return [at + ": not allowed"]
    unknown = set(schema) - KNOWN
    if unknown:
        return ["%s: the validator does not know %s" % (at, ", ".join(sorted(unknown)))]
    out = []
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target[part]
        out += errors(value, target, root, at)
    for key in ("oneOf", "anyOf"):
        if key in schema:
            tried = [errors(value, s, root, at) for s in schema[key]]
            fit = sum(not t for t in tried)
            if fit == 0:
                out += min(tried, key=len)
            elif key == "oneOf" and fit > 1:
                out.append("%s: fits %d alternatives" % (at, fit))
    if "const" in schema and value != schema["const"]:
        out.append("%s: %r, not %r" % (at, value, schema["const"]))
    if "enum" in schema and value not in schema["enum"]:
        out.append("%s: %r is not in the list" % (at, value))
    types = schema.get("type")
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, t) for t in types):
        return out + ["%s: %s, not %s" % (at, type(value).__name__, "/".join(types))]
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        out.append("%s: %r does not match %s" % (at, value, schema["pattern"]))
    if isinstance(value, dict):
        known = schema.get("properties", {})
        out += ["%s: lacks %s" % (at, k) for k in schema.get("required", []) if k not in value]
        for k, v in value.items():
            if k in known:
                out += errors(v, known[k], root, at + "." + k)
            elif "additionalProperties" in schema:
                out += errors(v, schema["additionalProperties"], root, at + "." + k)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            out.append("%s: too few items" % at)
        for i, v in enumerate(value if "items" in schema else []):
            out += errors(v, schema["items"], root, "%s[%d]" % (at, i))
    return out


_loaded = {}


def load(verb):
    if verb not in _loaded:
        with open(os.path.join(FOLDER, verb + ".json"), encoding="utf-8") as f:
            _loaded[verb] = json.load(f)
    return _loaded[verb]


def has(verb):
    return os.path.exists(os.path.join(FOLDER, verb + ".json"))


def validate(document, verb):
    schema = load(verb if has(verb) else "check")
    wrong = errors(document, schema, schema)
    try:
        import jsonschema
    except ImportError:
        return wrong
    validator = jsonschema.Draft202012Validator(schema)
    return wrong + ["jsonschema: " + e.message[:200] for e in validator.iter_errors(document) if not wrong]
