/* The superbpe lexer: 3 cells, 3 + 3 states, 18,754 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator superbpe
 */
#ifndef BITLEX_FAMILY_SUPERBPE_H
#define BITLEX_FAMILY_SUPERBPE_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_superbpe;

#ifdef __cplusplus
}
#endif
#endif
