/* The kimi_k2 lexer: 21 cells, 12 + 18 states, 41,359 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator kimi_k2
 */
#ifndef BITLEX_FAMILY_KIMI_K2_H
#define BITLEX_FAMILY_KIMI_K2_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_kimi_k2;

#ifdef __cplusplus
}
#endif
#endif
