"""The documents whose code is answered for: their examples and functions, read from ../shared at run time."""

import ast
import re
import textwrap


def document(shared, number):
    """The text of a document."""
    (path,) = shared("seeds").glob(f"{number}_*.txt")
    return path.read_text(encoding="utf-8")


def examples(text):
    """The indented blocks of a document in reStructuredText."""
    blocks = re.findall(r"\.\. code-block:: python\n\n((?:(?: {4}.*)?\n)+)", text)
    return [textwrap.dedent(block) for block in blocks]


def functions(text, **names):
    """The functions that a document in Markdown defines."""
    for block in re.findall(r"```(?:python)?\n(.*?)```", text, re.DOTALL):
        if block.lstrip().startswith(("def ", '"""')):
            exec(block, names)
    return names


def run(example, names):
    """Runs an example; gives the value and the comment of each call of compute that stands alone."""
    lines = example.splitlines()
    found = []
    for node in ast.parse(example).body:
        source = ast.get_source_segment(example, node)
        if isinstance(node, ast.Expr) and ".compute(" in source:
            found.append((eval(source, names), lines[node.lineno - 1].partition("#")[2]))
        else:
            exec(source, names)
    return found
