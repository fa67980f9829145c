/* The deepseek_llm lexer: 12 cells, 5 + 11 states, 23,725 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator deepseek_llm
 */
#ifndef BITLEX_FAMILY_DEEPSEEK_LLM_H
#define BITLEX_FAMILY_DEEPSEEK_LLM_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_deepseek_llm;

#ifdef __cplusplus
}
#endif
#endif
