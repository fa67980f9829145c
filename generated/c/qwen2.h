/* The qwen2 lexer: 11 cells, 3 + 11 states, 36,094 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator qwen2
 */
#ifndef BITLEX_FAMILY_QWEN2_H
#define BITLEX_FAMILY_QWEN2_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_qwen2;

#ifdef __cplusplus
}
#endif
#endif
