/* The llama3 lexer: 11 cells, 3 + 13 states, 36,184 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator llama3
 */
#ifndef BITLEX_FAMILY_LLAMA3_H
#define BITLEX_FAMILY_LLAMA3_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_llama3;

#ifdef __cplusplus
}
#endif
#endif
