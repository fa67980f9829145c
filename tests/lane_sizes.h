/* lane_sizes.h - how many states lanes may have, how many units there are lanes for, and from how many steps they guess, as variables: included
 * before all else of a program, so that one object of bitlex_lanes.c is enough, and one of bitlex.c for all numbers of units. It includes
 * nothing: a source may have to say something before the first header of the system.
 */
extern const unsigned lane_states, lanes_from, lanes_warmup;
