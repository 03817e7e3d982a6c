"""Parsing of shell command lines, by the grammar of tree-sitter-bash.

The grammar has two habits that are put right here: the rest of a line behind ``<<EOF`` hangs below the here-document, and
the text of a here-document is searched for substitutions only in part.

tree-sitter has no bound in time, and recovers from errors in more than quadratic time: ``a|`` 25,000 times takes 38 s.  Its
callback for progress needs a reading callback, which leaks memory (tree-sitter 0.26).  So the text is bounded instead,
by the signs that mean something to a shell.  Long here-documents are common, and cheap: they are taken out before, each only
if the grammar itself says that one begins there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

import tree_sitter
import tree_sitter_bash

from agentic.bash.escapes import unescaped
from agentic.bash.tree import (
    AndOr,
    Arithmetic,
    Block,
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    Negation,
    Node,
    Pipeline,
    Redirect,
    Redirected,
    Script,
    Substitution,
    Text,
    Variable,
    While,
    Word,
    WordPart,
)

LONGEST = 100_000
MOST_SIGNS, MOST_STREAMS = 1_500, 200
"""So many signs, and so many of them pipes and redirections, are parsed at most; the worst of 8,700 patterns took 0.11 s."""
MOST_DOCUMENTS = 20
DEPTH = 60
LONGEST_KEPT = 2_000
_BASH = tree_sitter.Language(tree_sitter_bash.language())
_SIGN = re.compile(r"[^\w\s.,/:-]|(?<=\s)-(?=\s)|\n")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_BLANKS = " \t\n\r\v\f"
_STREAM = re.compile(r"[|<>]")
_DOCUMENT = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_][\w.-]{0,60})\1")
_PLACE = re.compile(r"\x06(\d{1,3})\x06\n?")
_BACKSLASH = re.compile(r"\\(.)|[^\\]+|\\", re.DOTALL)
_IN_QUOTES = re.compile(r'\\([$`"\\\n])')
_SUBSTITUTES = re.compile(r"(?<!\\)(?:\$\(|`)")
_ENDS = frozenset((";", "&", ";;", ";&", ";;&"))
_REDIRECTS = frozenset(("file_redirect", "heredoc_redirect", "herestring_redirect"))
_EXPANSIONS = frozenset((
    "simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion",
))  # fmt: skip
_COMMANDS = frozenset((
    "command", "declaration_command", "unset_command", "variable_assignment", "variable_assignments", "test_command",
))  # fmt: skip
_COMPOUND = frozenset((
    "redirected_statement", "pipeline", "list", "negated_command", "subshell", "compound_statement", "if_statement",
    "while_statement", "for_statement", "c_style_for_statement", "case_statement", "function_definition",
))  # fmt: skip
_STATEMENTS = _COMMANDS | _COMPOUND | _REDIRECTS
_OTHERWISE = frozenset((":-", "-", ":=", "=", ":+", "+", ":?", "?"))
_Tree = tree_sitter.Node


class TooLong(Exception):
    """More signs than are parsed within a bound."""


class TooDeep(Exception):
    """Commands inside of commands, deeper than anybody writes them."""


def parse(text: str) -> Script:
    """The tree of a command line.  Raises ``TooLong`` and ``TooDeep``."""
    return _cached(text) if len(text) <= LONGEST_KEPT else _parsed(text)


def _parsed(text: str) -> Script:
    if len(text) > LONGEST:
        raise TooLong
    documents: list[str] = []
    if not _is_bounded(text):
        text, documents = _without_documents(text)
    converter = _Converter(text, documents, 0)
    return Script(converter.block(converter.root.children), not converter.root.has_error)


_cached = lru_cache(maxsize=512)(_parsed)


def _is_bounded(text: str) -> bool:
    if len(text) <= MOST_STREAMS:
        return True
    return len(_SIGN.findall(text)) <= MOST_SIGNS and len(_STREAM.findall(text)) <= MOST_STREAMS


def _without_documents(text: str) -> tuple[str, list[str]]:
    """The text with a mark in place of each here-document in which nothing is substituted, and what stood there."""
    documents: list[str] = []
    at = 0
    for _ in range(MOST_DOCUMENTS):
        found = _DOCUMENT.search(text, at)
        line_end = text.find("\n", found.end()) if found else -1
        if found is None or line_end < 0 or not _is_bounded(text[: line_end + 1]):
            break
        at = found.end()
        closed = f"{text}\n".find(f"\n{found[2]}\n", line_end)
        if closed < 0 or not _begins_document(text[: line_end + 1] + found[2], found.start()):
            continue
        body = text[line_end + 1 : closed + 1]
        if not found[1] and ("$" in body or "`" in body):
            continue
        text = f"{text[: line_end + 1]}\x06{len(documents)}\x06\n{text[closed + 1 :]}"
        documents.append(body)
    if not _is_bounded(text):
        raise TooLong
    return text, documents


def _begins_document(text: str, at: int) -> bool:
    """Whether the grammar sees a here-document that begins at a place and ends with the text."""
    root = _root(text)
    node = None if root.has_error else root.descendant_for_byte_range(at, at + 2)
    return node is not None and node.type in ("<<", "<<-") and node.start_byte == at


def _root(text: str) -> _Tree:
    """The grammar's tree; its offsets, in bytes, are places in the text.

    Its scanner looks each character up in tables of the C library, which end long before Unicode does: U+E0100 ends the
    process (tree-sitter-bash, issue 337).  So it is shown a full stop for what is no ASCII: a part of words and of no name.
    """
    return tree_sitter.Parser(_BASH).parse(_NOT_ASCII.sub(".", text).encode("ascii")).root_node


class _Converter:
    """Converts the grammar's tree of a text into ours, statement by statement, word by word."""

    def __init__(self, text: str, documents: Sequence[str], depth: int) -> None:
        self._source = text
        self._documents = documents
        self._depth = depth
        self.root = _root(text)

    def _source_of(self, node: _Tree) -> str:
        return self._source[node.start_byte : node.end_byte]

    # --- commands -----------------------------------------------------------------------------------------------

    def block(self, nodes: Iterable[_Tree]) -> Block:
        """The commands among some nodes; of those that are errors, what can be read."""
        found: list[tuple[Node, str]] = []
        end = 0
        for node in nodes:
            kind = node.type
            if kind in _ENDS and found and not found[-1][1]:
                found[-1] = (found[-1][0], kind if kind == "&" else ";")
            elif kind in _STATEMENTS or kind == "ERROR":
                if found and not found[-1][1]:
                    between = self._source[end : node.start_byte]
                    found[-1] = (found[-1][0], "\n" if "\n" in between else ";")
                found += self._nested_block(node.children).statements if kind == "ERROR" else ((self._node(node), ""),)
                end = node.end_byte
        return Block(tuple(found))

    def _nested_block(self, nodes: Iterable[_Tree]) -> Block:
        self._deeper()
        inner = self.block(nodes)
        self._depth -= 1
        return inner

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEPTH:
            raise TooDeep

    def _node(self, node: _Tree) -> Node:
        self._deeper()
        made = self._converted(node)
        self._depth -= 1
        return made

    def _converted(self, node: _Tree) -> Node:
        children = node.children
        match node.type:
            case "redirected_statement":
                body = node.child_by_field_name("body")
                redirects = [child for child in children if child.type in _REDIRECTS]
                made = Command() if body is None else self._node(body)
                return self._redirected(_extended(made, self._overlooked_words(children), ()), redirects)
            case "pipeline":
                return self._pipeline(children)
            case "list":
                return self._list(node)
            case "negated_command":
                return Negation(self._node(children[-1])) if children[-1].type in _STATEMENTS else Command()
            case "subshell" | "compound_statement":
                return self._group(node)
            case "if_statement":
                return self._if(children)
            case "while_statement":
                return self._while(children)
            case "for_statement" | "c_style_for_statement":
                return self._for(node)
            case "case_statement":
                return self._case(children)
            case "function_definition":
                name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
                return Function(self._source_of(name) if name else "", self._node(body) if body else Command())
            case _:
                return self._command(node)

    def _group(self, node: _Tree) -> Node:
        if node.children[0].type == "((":
            return Command((Word((Text(":"),)), Word((self._arithmetic(node),))))
        return Group(self.block(node.children), subshell=node.type == "subshell")

    def _command(self, node: _Tree) -> Node:
        if node.type in _REDIRECTS:
            return self._redirected(Command(), [node])
        redirects = [child for child in node.children if child.type in _REDIRECTS]
        others = [node] if node.type == "variable_assignment" else node.children
        if node.type == "test_command":
            others = list(self._leaves(node))
        groups = [child for child in others if child.type in _COMPOUND]
        words = self._words(child for child in others if child.type not in _REDIRECTS and child.type not in _COMPOUND)
        made = self._redirected(Command(words), redirects)
        if groups:  # ``time ( … )``
            return Group(Block(((made, ";"), *((self._node(group), ";") for group in groups))))
        return made

    def _overlooked_words(self, nodes: Sequence[_Tree]) -> tuple[Word, ...]:
        """Words between nodes that the grammar leaves out, as the ``-`` in ``git switch - 2>log``."""
        between = (self._source[one.end_byte : other.start_byte] for one, other in pairwise(nodes))
        return tuple(Word(_unquoted(word)) for text in between for word in text.replace("\\\n", " ").split())

    def _leaves(self, node: _Tree) -> Iterable[_Tree]:
        """The words of a test."""
        for child in node.children:
            if child.type in ("unary_expression", "binary_expression", "parenthesized_expression", "ERROR"):
                self._deeper()
                yield from self._leaves(child)
                self._depth -= 1
            else:
                yield child

    def _pipeline(self, children: Sequence[_Tree]) -> Node:
        parts = tuple(self._node(child) for child in children if child.type in _STATEMENTS)
        joints = tuple(child.type for child in children if child.type in ("|", "|&"))
        return _piped(parts, joints[: len(parts) - 1])

    def _list(self, node: _Tree) -> Node:
        parts: list[Node] = []
        joints: list[str] = []
        while node.type == "list":  # it leans to the left, however long it is
            first, *rest = node.children
            joints += [child.type for child in rest if child.type in ("&&", "||")][-1:]
            parts += [self._node(child) for child in rest if child.type in _STATEMENTS][-1:]
            node = first
        parts.append(self._node(node) if node.type in _STATEMENTS else Command())
        joints = joints[: len(parts) - 1]
        return AndOr(tuple(reversed(parts)), tuple(reversed(joints)))

    def _if(self, children: Sequence[_Tree]) -> If:
        clauses = [child.children for child in children if child.type == "elif_clause"]
        last = next((child.children for child in children if child.type == "else_clause"), None)
        own = [child for child in children if child.type not in ("elif_clause", "else_clause")]
        branches: list[tuple[Block, Block]] = []
        for clause in (own, *clauses):
            then = next((at for at, child in enumerate(clause) if child.type == "then"), len(clause))
            branches.append((self.block(clause[:then]), self.block(clause[then:])))
        return If(tuple(branches), None if last is None else self.block(last))

    def _while(self, children: Sequence[_Tree]) -> While:
        body = [child for child in children if child.type == "do_group"]
        condition = self.block(child for child in children if child.type != "do_group")
        return While(condition, self.block(body[0].children if body else ()), children[0].type == "until")

    def _for(self, node: _Tree) -> For:
        body = [child for child in node.children if child.type in ("do_group", "compound_statement")]
        variable = node.child_by_field_name("variable")
        values = self._words(node.children_by_field_name("value"))
        return For(self._source_of(variable) if variable else "_", values, self.block(body[0].children if body else ()))

    def _case(self, children: Sequence[_Tree]) -> Case:
        items = [child for child in children if child.type == "case_item"]
        words = list(children[1:2])
        arms: list[Block] = []
        for item in items:
            close = next((at for at, child in enumerate(item.children) if child.type == ")"), 0)
            words += [child for child in item.children[:close] if child.is_named]
            arms.append(self.block(item.children[close:]))
        return Case(self._words(words), tuple(arms))

    # --- redirections -------------------------------------------------------------------------------------------

    def _redirected(self, node: Node, found: Sequence[_Tree]) -> Node:
        """A command with its redirections, the words behind them, and what hangs below a here-document."""
        words: list[Word] = []
        redirects: list[Redirect] = []
        tail: list[tuple[str, Node]] = []
        for each in found:
            if each.type == "heredoc_redirect":
                self._here_document(each, words, redirects, tail)
            else:
                redirects.append(self._redirect(each, words))
        made = _extended(node, tuple(words), tuple(redirects)) if words or redirects else node
        for joint, part in tail:
            made = _piped((made, part), (joint,)) if joint in ("|", "|&") else AndOr((made, part), (joint,))
        return made

    def _redirect(self, node: _Tree, words: list[Word]) -> Redirect:
        """A redirection; the grammar takes words behind its target for further targets."""
        children = list(node.children)
        descriptor = self._source_of(children.pop(0)) if children[0].type == "file_descriptor" else ""
        sign = children.pop(0).type
        target, *rest = self._words(children) or (Word(),)
        words += rest
        writes = sign in (">", ">|", ">>", ">&") and descriptor not in ("", "0", "1")
        return Redirect(f"{descriptor}{sign}" if writes else sign, target)

    def _here_document(
        self, node: _Tree, words: list[Word], redirects: list[Redirect], tail: list[tuple[str, Node]]
    ) -> None:
        bare, operator, body = True, "", Word()
        arguments: list[_Tree] = []
        for child in node.children:
            match child.type:
                case "heredoc_start":
                    bare = not any(sign in self._source_of(child) for sign in "'\"\\")
                case "heredoc_body":
                    body = self._document_text(self._source_of(child), bare)
                case "pipeline":
                    joint = next((each.type for each in child.children if each.type in ("|", "|&")), "|")
                    tail.append((joint, self._pipeline(child.children[1:])))
                case "&&" | "||":
                    operator = child.type
                case kind if kind in _STATEMENTS and kind not in _REDIRECTS:
                    tail.append((operator or "&&", self._node(child)))
                case "file_redirect" | "herestring_redirect":
                    redirects.append(self._redirect(child, words))
                case "<<" | "<<-" | "heredoc_end" | "file_descriptor" | "ERROR":
                    pass
                case _:
                    arguments.append(child)
        words += self._words(arguments)
        redirects.append(Redirect("<<", body))

    def _document_text(self, text: str, bare: bool) -> Word:
        if found := _PLACE.fullmatch(text):
            return Word((Text(self._documents[int(found[1])], quoted=True),))
        if not bare or not ("$" in text or "`" in text):
            return Word((Text(text if not bare else _IN_QUOTES.sub(r"\1", text), quoted=True),))
        inner = self._nested_converter('"' + text.replace('"', '\\"') + '"')
        found = inner.block(inner.root.children).statements
        first = found[0][0] if found else Command()
        return first.words[0] if isinstance(first, Command) and first.words else Word((Text(text, quoted=True),))

    def _nested_converter(self, text: str) -> _Converter:
        self._deeper()
        inner = _Converter(text, (), self._depth)
        self._depth -= 1
        return inner

    # --- words --------------------------------------------------------------------------------------------------

    def _words(self, nodes: Iterable[_Tree]) -> tuple[Word, ...]:
        """The words of some nodes; those that touch are one."""
        words: list[tuple[WordPart, ...]] = []
        end = -1
        for node in nodes:
            if node.start_byte == node.end_byte:
                continue
            parts = self._parts(node)
            if node.start_byte == end and words:
                before = words[-1][:-1] if node.type == "string" and words[-1][-1:] == (Text("$"),) else words[-1]
                words[-1] = (*before, *parts)
            else:
                words.append(parts)
            end = node.end_byte
        return tuple(map(Word, words))

    def _parts(self, node: _Tree, quoted: bool = False) -> tuple[WordPart, ...]:
        kind = node.type
        if kind in _EXPANSIONS:
            return (self._expansion(node, quoted),)
        match kind:
            case "raw_string":
                return (Text(self._source_of(node)[1:-1], quoted=True),)
            case "ansi_c_string":
                return (Text(unescaped(self._source_of(node)[2:-1]), quoted=True),)
            case "string":
                inner = [child for child in node.children if child.type in _EXPANSIONS]
                start, end = node.start_byte + 1, node.end_byte - 1
                return self._parts_between(start, end, inner, _quoted, True) or (Text("", quoted=True),)
            case "array":
                elements = self._words(child for child in node.children if child.is_named)
                return tuple(
                    part
                    for at, word in enumerate(elements)
                    for part in (*((Text(" ", True),) if at else ()), *word.parts)
                )
            case _ if node.child_count:
                self._deeper()
                parts = self._parts_between(node.start_byte, node.end_byte, node.children, _unquoted)
                self._depth -= 1
                return parts
            case _:
                return self._literal(self._source_of(node), _unquoted)

    def _literal(self, text: str, read: Callable[[str], tuple[WordPart, ...]]) -> tuple[WordPart, ...]:
        """Text between what the grammar found, which overlooks some substitutions."""
        return self._document_text(text, bare=True).parts if _SUBSTITUTES.search(text) else read(text)

    def _parts_between(
        self,
        start: int,
        end: int,
        nodes: Sequence[_Tree],
        literal: Callable[[str], tuple[WordPart, ...]],
        quoted: bool = False,
    ) -> tuple[WordPart, ...]:
        """What nodes stand for, and the text between them."""
        parts: list[WordPart] = []
        for node in nodes:
            begins = node.start_byte
            while quoted and begins < len(self._source) and self._source[begins] in _BLANKS:
                begins += 1  # the grammar takes blanks before an expansion for a part of it
            if begins > start:
                parts += self._literal(self._source[start:begins], literal)
            if node.type == "string" and parts[-1:] == [Text("$")]:
                parts.pop()
            parts += self._parts(node, quoted)
            start = node.end_byte
        if end > start:
            parts += self._literal(self._source[start:end], literal)
        if quoted and not any(isinstance(part, Text) for part in parts):
            parts.append(Text("", quoted=True))
        return tuple(parts)

    def _expansion(self, node: _Tree, quoted: bool) -> WordPart:
        match node.type:
            case "simple_expansion":
                name = self._source_of(node).lstrip()[1:]
                return Variable(f"${name}", name, every=name in ("@", "*"), quoted=quoted)
            case "expansion":
                return self._parameter(node, quoted)
            case "arithmetic_expansion":
                return self._arithmetic(node)
            case _ if (text := self._source_of(node).lstrip()).startswith("`"):
                inner = self._nested_converter(text[1:-1].replace("\\`", "`"))
                return Substitution(inner.block(inner.root.children), quoted=quoted)
            case kind:
                return Substitution(
                    self._nested_block(node.children), process=kind == "process_substitution", quoted=quoted
                )

    def _arithmetic(self, node: _Tree) -> Arithmetic:
        inner: list[Substitution] = []
        below = list(node.children)
        while below:
            child = below.pop()
            if child.type in ("command_substitution", "process_substitution"):
                part = self._expansion(child, quoted=False)
                inner += [part] if isinstance(part, Substitution) else []
            else:
                below += child.children
        return Arithmetic(tuple(inner))

    def _parameter(self, node: _Tree, quoted: bool) -> Variable:
        """``${name}``, also with what stands for it where it is not set."""
        name, operator, every, at = "", "", False, node.end_byte - 1
        rest: list[_Tree] = []
        index: tuple[WordPart, ...] = ()
        for child in node.children[1:]:
            if operator and name:
                rest.append(child)
            elif child.type == "subscript":
                inner = child.child_by_field_name("index")
                first = child.child_by_field_name("name")
                name = self._source_of(first) if first else ""
                every = inner is not None and self._source_of(inner) in ("@", "*")
                index += self._parts(inner) if inner is not None and inner.child_count else ()
            elif child.type in ("variable_name", "special_variable_name") and not name:
                name = self._source_of(child)
            elif child.type != "}":
                operator, at = operator or (child.type if child.type in _OTHERWISE and name else "~"), child.end_byte
        cut = [child for child in rest if child.type != "}"]
        otherwise = self._parts_between(at, node.end_byte - 1, cut, _unquoted) if operator else ()
        operator = operator or ("~" if index else "")
        return Variable(
            self._source_of(node).lstrip(),
            name,
            operator[-1:],
            (*index, *otherwise) if index else otherwise,
            every or name in ("@", "*"),
            quoted,
        )


def _piped(parts: tuple[Node, ...], joints: tuple[str, ...]) -> Node:
    """A pipeline; the grammar takes ``a && b 2>log | c`` for one that ``a && b`` feeds."""
    if len(parts) < 2:
        return parts[0] if parts else Command()
    first, *rest = parts
    if isinstance(first, AndOr):
        return AndOr((*first.parts[:-1], _piped((first.parts[-1], *rest), joints)), first.joints)
    return Pipeline(parts, joints)


def _extended(node: Node, words: tuple[Word, ...], redirects: tuple[Redirect, ...]) -> Node:
    """A command with further words and redirections, which belong to the last of several that are joined."""
    match node:
        case Command():
            return Command((*node.words, *words), (*node.redirects, *redirects))
        case Pipeline() | AndOr():
            return type(node)((*node.parts[:-1], _extended(node.parts[-1], words, redirects)), node.joints)
        case Negation():
            return Negation(_extended(node.body, words, redirects))
        case Redirected():
            return Redirected(node.body, (*node.redirects, *redirects))
        case _:
            return Redirected(node, redirects)


def _unquoted(text: str) -> tuple[WordPart, ...]:
    """Text outside of quotes; what a backslash stands before is quoted."""
    if "\\" not in text:
        return (Text(text),)
    return tuple(
        Text(found[1], quoted=True) if found[1] else Text(found[0])
        for found in _BACKSLASH.finditer(text)
        if found[1] != "\n"
    )


def _quoted(text: str) -> tuple[WordPart, ...]:
    return (Text(_IN_QUOTES.sub(lambda found: found[1].strip("\n"), text), quoted=True),)
