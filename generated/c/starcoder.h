/* The starcoder lexer: 10 cells, 4 + 8 states, 35,834 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator starcoder
 */
#ifndef BITLEX_FAMILY_STARCODER_H
#define BITLEX_FAMILY_STARCODER_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_starcoder;

#ifdef __cplusplus
}
#endif
#endif
