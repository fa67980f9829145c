/* The nanochat lexer: 11 cells, 3 + 12 states, 36,139 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator nanochat
 */
#ifndef BITLEX_FAMILY_NANOCHAT_H
#define BITLEX_FAMILY_NANOCHAT_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_nanochat;

#ifdef __cplusplus
}
#endif
#endif
