/* lane_sizes.h - how many states lanes may have, and how many units there are lanes for, as variables: included before bitlex_lanes.c and
 * bitlex.c, of which one object is then enough for all numbers of them. */
#include <stdint.h>

extern const uint32_t lane_states, lanes_from;
