/* The tiny_aya lexer: 22 cells, 15 + 20 states, 41,594 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator tiny_aya
 */
#ifndef BITLEX_FAMILY_TINY_AYA_H
#define BITLEX_FAMILY_TINY_AYA_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_tiny_aya;

#ifdef __cplusplus
}
#endif
#endif
