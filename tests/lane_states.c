/* lane_states.c - how many states lanes of a program may have: -DLANE_STATES=64 is what they have by default. */
#include "lane_states.h"

const uint32_t lane_states = LANE_STATES;
