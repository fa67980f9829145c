/* The laguna lexer: 12 cells, 4 + 12 states, 36,272 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator laguna
 */
#ifndef BITLEX_FAMILY_LAGUNA_H
#define BITLEX_FAMILY_LAGUNA_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_laguna;

#ifdef __cplusplus
}
#endif
#endif
