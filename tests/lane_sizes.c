/* lane_sizes.c - the sizes of lanes in a program: without the tests, these are 64, 384 and 12. */
#include "lane_sizes.h"

const unsigned lane_states = LANE_STATES, lanes_from = LANES_FROM, lanes_warmup = WARMUP;
