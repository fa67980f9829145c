/* The falcon lexer: 9 cells, 4 + 18 states, 36,513 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator falcon
 */
#ifndef BITLEX_FAMILY_FALCON_H
#define BITLEX_FAMILY_FALCON_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_falcon;

#ifdef __cplusplus
}
#endif
#endif
