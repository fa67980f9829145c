/* The o200k lexer: 19 cells, 12 + 17 states, 40,554 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator o200k
 */
#ifndef BITLEX_FAMILY_O200K_H
#define BITLEX_FAMILY_O200K_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_o200k;

#ifdef __cplusplus
}
#endif
#endif
