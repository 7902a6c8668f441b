// SPDX-License-Identifier: Apache-2.0
// A header of the earlier C++ library: what it declared is in tracesmith.hpp.
#ifndef TRACESMITH_STATE_TIMELINE_BUILDER_HPP
#define TRACESMITH_STATE_TIMELINE_BUILDER_HPP

#include "tracesmith/tracesmith.hpp"

#endif
