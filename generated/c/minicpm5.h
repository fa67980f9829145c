/* The minicpm5 lexer: 11 cells, 3 + 13 states, 36,184 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator minicpm5
 */
#ifndef BITLEX_FAMILY_MINICPM5_H
#define BITLEX_FAMILY_MINICPM5_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_minicpm5;

#ifdef __cplusplus
}
#endif
#endif
