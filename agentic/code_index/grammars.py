"""The languages whose syntax is known: by the ending of a file's name, with what defines a name in each.

A grammar is loaded when the first file of it comes; this is imported in a process of its own alone (``syntax_process``), but
for the names of the grammars.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from agentic.extras import installed

if TYPE_CHECKING:
    from tree_sitter import Language, Query

_ENDINGS: dict[str, tuple[str, ...]] = {
    "python": ("py", "pyi", "pyw"),
    "javascript": ("js", "jsx", "mjs", "cjs"),
    "typescript": ("ts", "mts", "cts"),
    "tsx": ("tsx",),
    "go": ("go",),
    "rust": ("rs",),
    "java": ("java",),
    "c": ("c", "h"),
    "cpp": ("cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp"),
    "c_sharp": ("cs",),
    "ruby": ("rb", "rake", "gemspec"),
    "php": ("php",),
    "bash": ("sh", "bash"),
}
_BY_ENDING = {ending: grammar for grammar, endings in _ENDINGS.items() for ending in endings}
_MODULES = {
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "php": ("tree_sitter_php", "language_php"),
}
"""Module and function, where they are not named as usual."""

_TYPESCRIPT = (
    "interface_declaration", "type_alias_declaration", "enum_declaration", "abstract_class_declaration", "internal_module",
    "method_signature", "function_signature",
)  # fmt: skip
_JAVASCRIPT = ("function_declaration", "generator_function_declaration", "class_declaration", "method_definition")
_C = ("struct_specifier", "union_specifier", "enum_specifier")
_NAMED: dict[str, tuple[str, ...]] = {
    "python": ("function_definition", "class_definition"),
    "javascript": _JAVASCRIPT,
    "typescript": (*_JAVASCRIPT, *_TYPESCRIPT),
    "tsx": (*_JAVASCRIPT, *_TYPESCRIPT),
    "go": ("function_declaration", "method_declaration", "type_spec"),
    "rust": ("function_item", "struct_item", "enum_item", "trait_item", "mod_item", "macro_definition", "type_item"),
    "java": (
        "class_declaration", "interface_declaration", "enum_declaration", "record_declaration", "method_declaration",
        "constructor_declaration",
    ),
    "c": _C,
    "cpp": (*_C, "class_specifier", "namespace_definition"),
    "c_sharp": (
        "class_declaration", "interface_declaration", "struct_declaration", "enum_declaration", "record_declaration",
        "method_declaration", "constructor_declaration", "property_declaration", "namespace_declaration",
    ),
    "ruby": ("method", "singleton_method", "class", "module"),
    "php": (
        "function_definition", "class_declaration", "interface_declaration", "trait_declaration", "enum_declaration",
        "method_declaration",
    ),
    "bash": ("function_definition",),
}  # fmt: skip
"""Nodes with a field ``name`` that define it."""
_FUNCTION_VALUE = "(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @def"
_DECLARED = "(function_definition declarator: {}) @def"
_FUNCTION = "(function_declarator declarator: (_) @name)"
_C_FUNCTIONS = (
    _DECLARED.format(_FUNCTION),
    _DECLARED.format(f"(pointer_declarator declarator: {_FUNCTION})"),
    "(type_definition declarator: (type_identifier) @name) @def",
)
_OTHERWISE: dict[str, tuple[str, ...]] = {
    "javascript": (_FUNCTION_VALUE,),
    "typescript": (_FUNCTION_VALUE,),
    "tsx": (_FUNCTION_VALUE,),
    "rust": ("(impl_item type: (_) @name) @def",),
    "c": _C_FUNCTIONS,
    "cpp": _C_FUNCTIONS,
}
"""What defines a name in another way."""


def grammar_of(path: str) -> str:
    """The grammar for a file, '' where there is none."""
    name = path.rpartition("/")[2]
    return _BY_ENDING.get(name.rpartition(".")[2].lower(), "") if "." in name else ""


def unreadable(path: str) -> str:
    """The grammar for a file, where it is known and not installed; else ''."""
    grammar = grammar_of(path)
    return "" if not grammar or installed(_module_of(grammar)[0]) else grammar


def not_installed() -> tuple[str, ...]:
    """The grammars that are known and not installed."""
    return tuple(grammar for grammar in _ENDINGS if not installed(_module_of(grammar)[0]))


def _module_of(grammar: str) -> tuple[str, str]:
    return _MODULES.get(grammar, (f"tree_sitter_{grammar}", "language"))


def grammars() -> tuple[str, ...]:
    """All that are known."""
    return tuple(_ENDINGS)


@cache
def loaded(grammar: str) -> tuple[Language, Query]:
    """The grammar, and the question for what defines a name."""
    from tree_sitter import Language, Query

    module, function = _module_of(grammar)
    held: object = getattr(importlib.import_module(module), function)()
    language = Language(held)
    named = [f"({kind} name: (_) @name) @def" for kind in _NAMED[grammar]]
    return language, Query(language, "\n".join((*named, *_OTHERWISE.get(grammar, ()))))
