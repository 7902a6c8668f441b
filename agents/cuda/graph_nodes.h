// SPDX-License-Identifier: Apache-2.0
// Where the nodes of CUDA graphs were made (profile --stacks): the call path at which a node was captured or added, by the id
// that records of its kernels, copies and fills have. Rules: agent.h.
#ifndef CUDA_GRAPH_NODES_H
#define CUDA_GRAPH_NODES_H

#include "cupti.h"
#include "launches.h"

// Only where stacks are wanted. Without memory there are no stacks of nodes.
void graph_nodes_init(void);
// From CUPTI's callbacks on the program's threads: a node was made, or copied with its graph.
void graph_nodes_made(const struct cupti_graph_data *data);
void graph_nodes_cloned(const struct cupti_graph_data *data);

// At the record of a node: its stack takes the place of that of the graph's launch, where it is known.
void graph_nodes_look_up(uint64_t node, struct launch *launch);

#endif
