/* The bytelevel_prefix lexer: 10 cells, 4 + 10 states, 35,918 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator bytelevel_prefix
 */
#ifndef BITLEX_FAMILY_BYTELEVEL_PREFIX_H
#define BITLEX_FAMILY_BYTELEVEL_PREFIX_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_bytelevel_prefix;

#ifdef __cplusplus
}
#endif
#endif
