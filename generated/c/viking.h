/* The viking lexer: 4 cells, 2 + 4 states, 19,424 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator viking
 */
#ifndef BITLEX_FAMILY_VIKING_H
#define BITLEX_FAMILY_VIKING_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_viking;

#ifdef __cplusplus
}
#endif
#endif
