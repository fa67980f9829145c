/* The qwen3_5 lexer: 11 cells, 3 + 11 states, 37,246 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator qwen3_5
 */
#ifndef BITLEX_FAMILY_QWEN3_5_H
#define BITLEX_FAMILY_QWEN3_5_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_qwen3_5;

#ifdef __cplusplus
}
#endif
#endif
