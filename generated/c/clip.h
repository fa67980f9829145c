/* The clip lexer: 21 cells, 17 + 22 states, 38,559 bytes of tables, Unicode 16.0.
 *
 * DO NOT EDIT. Written by: python -m generator clip
 */
#ifndef BITLEX_FAMILY_CLIP_H
#define BITLEX_FAMILY_CLIP_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const bitlex_machine bitlex_clip;

#ifdef __cplusplus
}
#endif
#endif
