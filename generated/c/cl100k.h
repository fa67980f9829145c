/* The cl100k lexer: 11 cells, 3 + 13 states, 36,184 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator cl100k
 */
#ifndef BITLEX_FAMILY_CL100K_H
#define BITLEX_FAMILY_CL100K_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_cl100k;

#ifdef __cplusplus
}
#endif
#endif
