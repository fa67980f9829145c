"""The post_processor of a tokenizer.json: which ids stand around one text, and around two.

    {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
     "pair": [...], "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}}          # ((1, 0), ("A", 0)) and the pair

Each item is an id or a text, "A" or "B", with its type id. ByteLevel only moves offsets. RobertaProcessing and BertProcessing are
templates that are not written out. Invariant: the ids are those of the file, unchecked, as in the reference. Rejected: two templates
after one another (the second would wrap the first).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from .json_fields import Fields, is_number, shown

__all__ = ["Template", "check_byte_level", "templates"]

Template: TypeAlias = tuple[tuple[int | Literal["A", "B"], int], ...]
SUPPORTED = ("ByteLevel", "TemplateProcessing", "RobertaProcessing", "BertProcessing")


def templates(fields: Fields) -> tuple[Template, Template]:
    """The template of one text and the one of two."""
    if fields.value.get("post_processor") is None:
        return PLAIN
    processor = fields.at("post_processor")
    if processor.choice("type", (*SUPPORTED, "Sequence")) != "Sequence":
        return template(processor) or PLAIN
    found = [one for one in map(template, processor.items("processors")) if one is not None]
    if len(found) > 1:
        raise processor.wrong("processors", f"{len(found)} templates are not supported; one is")
    return found[0] if found else PLAIN


PLAIN: tuple[Template, Template] = ((("A", 0),), (("A", 0), ("B", 1)))


def template(processor: Fields) -> tuple[Template, Template] | None:
    """What one post_processor puts around texts; None for one that puts nothing."""
    kind = processor.choice("type", SUPPORTED)
    if kind == "ByteLevel":
        check_byte_level(processor)
        return None
    if kind == "TemplateProcessing":
        return items(processor, "single"), items(processor, "pair")
    if kind == "RobertaProcessing":
        processor.booleans("trim_offsets", "add_prefix_space")
    first, last = (named_id(processor, key) for key in ("cls", "sep"))
    single: Template = ((first, 0), ("A", 0), (last, 0))
    if kind == "BertProcessing":
        return single, (*single, ("B", 1), (last, 1))
    return single, (*single, (last, 0), ("B", 0), (last, 0))


def check_byte_level(level: Fields) -> None:
    """The fields of a ByteLevel, wherever it stands: two must be there, and the third may."""
    level.booleans("add_prefix_space", "trim_offsets")
    if "use_regex" in level.value:
        level.booleans("use_regex")


def named_id(processor: Fields, key: str) -> int:
    """The id in `"sep": ["</s>", 2]`."""
    pair = processor.get(key, list)
    if len(pair) != 2 or not isinstance(pair[0], str) or not is_number(pair[1]):
        raise processor.wrong(key, "is not a token and its id")
    number: int = pair[1]
    return number


def items(processor: Fields, key: str) -> Template:
    special = {key: special_ids(processor.at("special_tokens").at(key)) for key in processor.get("special_tokens", dict)}
    found: list[tuple[int | Literal["A", "B"], int]] = []
    for item in processor.items(key):
        item.only(("SpecialToken", "Sequence"))
        if "Sequence" in item.value:
            text = item.at("Sequence")
            found.append((text.choice("id", ("A", "B")), text.get("type_id", int)))
        else:
            token = item.at("SpecialToken")
            name, kind = token.get("id", str), token.get("type_id", int)
            if name not in special:
                raise token.wrong("id", f"{shown(name)} is not in special_tokens")
            found.extend((number, kind) for number in special[name])
    texts = [what for what, _ in found if isinstance(what, str)]
    if sorted(texts) != (["A"] if key == "single" else ["A", "B"]):
        raise processor.wrong(key, f"holds the texts {', '.join(texts) or 'none'}; supported: each once")
    return tuple(found)


def special_ids(token: Fields) -> list[int]:
    """The ids of a token in special_tokens, each of which has a text."""
    token.get("id", str)
    ids: list[int] = token.get("ids", list)
    texts = token.get("tokens", list)
    if not all(map(is_number, ids)) or len(texts) != len(ids) or not all(isinstance(text, str) for text in texts):
        raise token.wrong("ids", f"{shown(ids)} are not the ids of the tokens {shown(texts)}")
    return ids
