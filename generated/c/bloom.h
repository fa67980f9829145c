/* The bloom lexer: 3 cells, 2 + 4 states, 6,347 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator bloom
 */
#ifndef BITLEX_FAMILY_BLOOM_H
#define BITLEX_FAMILY_BLOOM_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_bloom;

#ifdef __cplusplus
}
#endif
#endif
