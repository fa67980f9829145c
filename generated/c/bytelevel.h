/* The bytelevel lexer: 10 cells, 4 + 9 states, 35,876 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator bytelevel
 */
#ifndef BITLEX_FAMILY_BYTELEVEL_H
#define BITLEX_FAMILY_BYTELEVEL_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_bytelevel;

#ifdef __cplusplus
}
#endif
#endif
