"""tiktoken 0.14 over bitlex: the same functions, the same Encoding, the same ids and exceptions.

    from bitlex.compat import tiktoken
    encoding = tiktoken.encoding_for_model("gpt-4o")            # or get_encoding("cl100k_base")
    encoding.encode("hello world"); encoding.decode([24912, 2375])

The modules are those of tiktoken that people import from: `core`, `load`, `model` and `registry`. Invariant: every public function is there, and an
encoding is loaded once. Rejected: guessing the encoding of a model whose name is not known.
"""

from . import core as core
from . import load as load
from . import model as model
from . import registry as registry
from .core import Encoding
from .model import encoding_for_model, encoding_name_for_model
from .registry import get_encoding, list_encoding_names

__all__ = ["Encoding", "encoding_for_model", "encoding_name_for_model", "get_encoding", "list_encoding_names"]

__version__ = "0.14.0"  # of the tiktoken that this does as
