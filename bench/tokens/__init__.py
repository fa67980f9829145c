"""Tokenizers, measured: how fast texts become token ids, next to what else there is. `python -m bench tokens --help`."""
