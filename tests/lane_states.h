/* lane_states.h - how many states lanes may have, as a variable: included before bitlex_lanes.c, of which one object is then enough. */
#include <stdint.h>

extern const uint32_t lane_states;
