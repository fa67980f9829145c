/* The seed_coder lexer: 11 cells, 3 + 10 states, 36,049 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator seed_coder
 */
#ifndef BITLEX_FAMILY_SEED_CODER_H
#define BITLEX_FAMILY_SEED_CODER_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_seed_coder;

#ifdef __cplusplus
}
#endif
#endif
