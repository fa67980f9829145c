/* The deepseek_coder lexer: 9 cells, 2 + 9 states, 36,602 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator deepseek_coder
 */
#ifndef BITLEX_FAMILY_DEEPSEEK_CODER_H
#define BITLEX_FAMILY_DEEPSEEK_CODER_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_deepseek_coder;

#ifdef __cplusplus
}
#endif
#endif
