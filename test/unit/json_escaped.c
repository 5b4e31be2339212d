/*
 * json_escaped.c
 *
 * All that holds of JSON, with a json-c that refuses whatever is not ASCII: its
 * letters are escaped before it sees them.  Whichever json-c there is takes
 * escapes, so what is asserted is the same.
 */
#include "tap.h"

#include <json-c/json.h>

#define json_c_version_num() (18 << 8)

#include "../../src/codec/json_read.c"

#include "json.c"
