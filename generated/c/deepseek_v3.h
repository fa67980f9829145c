/* The deepseek_v3 lexer: 12 cells, 5 + 15 states, 40,486 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator deepseek_v3
 */
#ifndef BITLEX_FAMILY_DEEPSEEK_V3_H
#define BITLEX_FAMILY_DEEPSEEK_V3_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_deepseek_v3;

#ifdef __cplusplus
}
#endif
#endif
