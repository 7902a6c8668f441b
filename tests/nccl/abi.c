// SPDX-License-Identifier: Apache-2.0
// Our declarations of NCCL's profiler interface against NCCL's own: compiled, not run, where they are (test_abi.sh).
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common.h"
#include "err.h"
#include "profiler.h"
#include "profiler_net.h"

// Names of logging that ours are too.
#define NCCL_LOG_WARN OUR_LOG_WARN
#define NCCL_COLL OUR_COLL
#define NCCL_P2P OUR_P2P
#include "abi.h"

#define SAME(left, right) _Static_assert((left) == (right), #left " is not " #right)
#define FIELD(ours, field, theirs, name) SAME(offsetof(struct ours, field), offsetof(theirs, name))
// Layout of an event's descriptor, and of the table of functions.
#define EVENT(version, field, name)                                                                          \
    FIELD(nccl_descriptor_v##version, field, ncclProfilerEventDescr_v##version##_t, name)
#define CALL(version, field, name) FIELD(nccl_profiler_v##version, field, ncclProfiler_v##version##_t, name)

#define EVERY(version)                                                                                         \
    SAME(sizeof(struct nccl_profiler_v##version), sizeof(ncclProfiler_v##version##_t));                        \
    CALL(version, init, init);                                                                                 \
    CALL(version, start, startEvent);                                                                          \
    CALL(version, stop, stopEvent);                                                                            \
    CALL(version, state, recordEventState);                                                                    \
    CALL(version, finalize, finalize);                                                                         \
    EVENT(version, type, type);                                                                                \
    EVENT(version, parent, parentObj);                                                                         \
    EVENT(version, rank, rank);                                                                                \
    EVENT(version, coll.sequence, coll.seqNumber);                                                             \
    EVENT(version, coll.function, coll.func);                                                                  \
    EVENT(version, coll.count, coll.count);                                                                    \
    EVENT(version, coll.root, coll.root);                                                                      \
    EVENT(version, coll.datatype, coll.datatype);                                                              \
    EVENT(version, coll.warps, coll.nWarps);                                                                   \
    EVENT(version, coll.algorithm, coll.algo);                                                                 \
    EVENT(version, coll.protocol, coll.proto);                                                                 \
    EVENT(version, p2p.function, p2p.func);                                                                    \
    EVENT(version, p2p.datatype, p2p.datatype);                                                                \
    EVENT(version, p2p.count, p2p.count);                                                                      \
    EVENT(version, p2p.peer, p2p.peer);                                                                        \
    EVENT(version, proxy_op.pid, proxyOp.pid);                                                                 \
    EVENT(version, proxy_op.channel, proxyOp.channelId);                                                       \
    EVENT(version, proxy_op.peer, proxyOp.peer);                                                               \
    EVENT(version, proxy_op.steps, proxyOp.nSteps);                                                            \
    EVENT(version, proxy_op.chunk_bytes, proxyOp.chunkSize);                                                   \
    EVENT(version, proxy_op.is_send, proxyOp.isSend);                                                          \
    EVENT(version, step, proxyStep.step);                                                                      \
    /* A plugin that comes after us gets a copy of all of it: nothing beyond NCCL's own may be read for it. */ \
    _Static_assert(sizeof(struct nccl_descriptor_v##version) <=                                                \
                       sizeof(ncclProfilerEventDescr_v##version##_t),                                          \
                   "a larger descriptor than NCCL's")
EVERY(1);
EVERY(2);
EVERY(3);
EVERY(4);
EVERY(5);
EVERY(6);

#define UNTIL_3(version)                                                                                     \
    EVENT(version, coll.channels, coll.nMaxChannels);                                                        \
    EVENT(version, coll.name, coll.name);                                                                    \
    EVENT(version, coll.comm, coll.commHash);                                                                \
    EVENT(version, p2p.name, p2p.name);                                                                      \
    EVENT(version, p2p.comm, p2p.commHash)
UNTIL_3(1);
UNTIL_3(2);
UNTIL_3(3);

EVENT(3, net.id, netPlugin.id);
EVENT(4, net.id, netPlugin.id);
EVENT(4, coll.channels, coll.nChannels);
EVENT(4, p2p.channels, p2p.nChannels);
EVENT(4, kernel.channel, kernelCh.channelId);
EVENT(4, kernel.timer, kernelCh.pTimer);
EVENT(5, coll.channels, coll.nChannels);
EVENT(5, coll.parent_group, coll.parentGroup);
EVENT(5, p2p.parent_group, p2p.parentGroup);
SAME(sizeof(struct nccl_descriptor_v6), sizeof(ncclProfilerEventDescr_v6_t));
EVENT(6, coll.channels, coll.nChannels);
EVENT(6, coll.parent_group, coll.parentGroup);
EVENT(6, p2p.parent_group, p2p.parentGroup);
EVENT(6, coll_api.function, collApi.func);
EVENT(6, coll_api.stream, collApi.stream);
EVENT(6, p2p_api.function, p2pApi.func);
EVENT(6, p2p_api.stream, p2pApi.stream);
EVENT(6, stream, kernelLaunch.stream);
EVENT(6, ce_coll.sequence, ceColl.seqNumber);
EVENT(6, ce_coll.function, ceColl.func);
EVENT(6, ce_coll.count, ceColl.count);
EVENT(6, ce_coll.root, ceColl.root);
EVENT(6, ce_coll.datatype, ceColl.datatype);
EVENT(6, ce_sync.complete, ceCollSync.isComplete);
EVENT(6, ce_sync.ranks, ceCollSync.nRanks);
EVENT(6, ce_batch.operations, ceCollBatch.numOps);
EVENT(6, ce_batch.bytes, ceCollBatch.totalBytes);
EVENT(6, net.data, netPlugin.data);

SAME(offsetof(union nccl_state_arguments, proxy.bytes),
     offsetof(ncclProfilerEventStateArgs_v1_t, proxyOp.transSize));
SAME(offsetof(union nccl_state_arguments, timer), offsetof(ncclProfilerEventStateArgs_v4_t, kernelCh.pTimer));
// The type is one byte there; the rest of its word is undefined.
FIELD(nccl_net_ib, device, ncclProfilerNetIbDescr_v1_t, qp.device);
FIELD(nccl_net_ib, opcode, ncclProfilerNetIbDescr_v1_t, qp.opcode);
FIELD(nccl_net_ib, bytes, ncclProfilerNetIbDescr_v1_t, qp.length);
FIELD(nccl_net_socket, fd, ncclProfilerNetSockDescr_v1_t, sock.fd);
FIELD(nccl_net_socket, operation, ncclProfilerNetSockDescr_v1_t, sock.op);
FIELD(nccl_net_socket, bytes, ncclProfilerNetSockDescr_v1_t, sock.length);

SAME(NCCL_CE_COLL, ncclProfileCeColl);
SAME(NCCL_KERNEL_LAUNCH, ncclProfileKernelLaunch);
SAME(NCCL_KERNEL_CHANNEL, ncclProfileKernelCh);
SAME(NCCL_STATE_KERNEL_STOP, ncclProfilerKernelChStop);
SAME(NCCL_STATE_SEND_POSTED, ncclProfilerProxyOpSendPosted);
SAME(NCCL_STATE_RECEIVE_DONE, ncclProfilerProxyOpRecvDone);
SAME(NCCL_STATE_STEP_SEND_GPU_WAIT, ncclProfilerProxyStepSendGPUWait);
SAME(NCCL_STATE_STEP_SEND_WAIT, ncclProfilerProxyStepSendWait);
SAME(NCCL_STATE_STEP_RECEIVE_WAIT, ncclProfilerProxyStepRecvWait);
SAME(NCCL_STATE_STEP_RECEIVE_FLUSH_WAIT, ncclProfilerProxyStepRecvFlushWait);
SAME(NCCL_STATE_STEP_RECEIVE_GPU_WAIT, ncclProfilerProxyStepRecvGPUWait);
SAME(NCCL_STATE_CONTROL_IDLE, ncclProfilerProxyCtrlIdle);
SAME(NCCL_STATE_CONTROL_APPEND_END, ncclProfilerProxyCtrlAppendEnd);
SAME(NCCL_STATE_OP_IN_PROGRESS, ncclProfilerProxyOpInProgress_v4);
SAME(NCCL_STATE_STEP_SEND_PEER_WAIT, ncclProfilerProxyStepSendPeerWait_v4);
SAME(NCCL_STATE_NET_UPDATE, ncclProfilerNetPluginUpdate);
SAME(NCCL_STATE_GROUP_STARTED, ncclProfilerGroupStartApiStop);
SAME(NCCL_STATE_GROUP_ENDING, ncclProfilerGroupEndApiStart);
SAME(NCCL_NET_IB, NCCL_PROFILER_NET_TYPE_IB);
SAME(NCCL_NET_SOCKET, NCCL_PROFILER_NET_TYPE_SOCK);
SAME(NCCL_NET_VERSION, NCCL_PROFILER_NET_IB_VER);
SAME(NCCL_NET_VERSION, NCCL_PROFILER_NET_SOCKET_VER);
