"""Drop-ins: the interfaces of other tokenizers over bitlex, with the same results.

    from bitlex.compat import tiktoken                      # instead of: import tiktoken
    from bitlex.compat.huggingface import Tokenizer         # instead of: from tokenizers import Tokenizer

Invariant: what is here gives what the original gives, or refuses by name; docs/compat.md lists both. Rejected: putting these modules
in the place of the originals (`sys.modules`): who imports a name should know whose it is.
"""
