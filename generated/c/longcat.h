/* The longcat lexer: 18 cells, 5 + 20 states, 37,658 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator longcat
 */
#ifndef BITLEX_FAMILY_LONGCAT_H
#define BITLEX_FAMILY_LONGCAT_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_longcat;

#ifdef __cplusplus
}
#endif
#endif
