/* The exaone_moe lexer: 12 cells, 4 + 10 states, 37,578 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator exaone_moe
 */
#ifndef BITLEX_FAMILY_EXAONE_MOE_H
#define BITLEX_FAMILY_EXAONE_MOE_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_exaone_moe;

#ifdef __cplusplus
}
#endif
#endif
