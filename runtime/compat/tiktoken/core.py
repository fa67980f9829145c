"""What tiktoken.core has: the Encoding, and what is raised for a special token in a text.

Invariant: the names of tiktoken 0.14. The code is in tiktoken_encoding.py. Rejected: all of it here, where one would look for the
registry as well, which an Encoding asks for when it is copied.
"""

from ..tiktoken_encoding import Encoding
from ..tiktoken_errors import refuse_token as raise_disallowed_special_token

__all__ = ["Encoding", "raise_disallowed_special_token"]
