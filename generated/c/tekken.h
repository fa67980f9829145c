/* The tekken lexer: 10 cells, 4 + 10 states, 38,764 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator tekken
 */
#ifndef BITLEX_FAMILY_TEKKEN_H
#define BITLEX_FAMILY_TEKKEN_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_tekken;

#ifdef __cplusplus
}
#endif
#endif
