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
#define PLACE(version, ours, theirs)                                                                         \
    SAME(offsetof(struct nccl_descriptor_v##version, ours),                                                  \
         offsetof(ncclProfilerEventDescr_v##version##_t, theirs))
#define HEAD(version)                                                                                        \
    PLACE(version, type, type);                                                                              \
    PLACE(version, parent, parentObj);                                                                       \
    PLACE(version, rank, rank)
#define PROXY(version)                                                                                       \
    PLACE(version, proxy_op.pid, proxyOp.pid);                                                               \
    PLACE(version, proxy_op.channel, proxyOp.channelId);                                                     \
    PLACE(version, proxy_op.peer, proxyOp.peer);                                                             \
    PLACE(version, proxy_op.steps, proxyOp.nSteps);                                                          \
    PLACE(version, proxy_op.chunk_bytes, proxyOp.chunkSize);                                                 \
    PLACE(version, proxy_op.is_send, proxyOp.isSend)
#define COLL(version, channels_)                                                                             \
    PLACE(version, coll.sequence, coll.seqNumber);                                                           \
    PLACE(version, coll.function, coll.func);                                                                \
    PLACE(version, coll.count, coll.count);                                                                  \
    PLACE(version, coll.root, coll.root);                                                                    \
    PLACE(version, coll.datatype, coll.datatype);                                                            \
    PLACE(version, coll.channels, coll.channels_);                                                           \
    PLACE(version, coll.warps, coll.nWarps);                                                                 \
    PLACE(version, coll.algorithm, coll.algo);                                                               \
    PLACE(version, coll.protocol, coll.proto)
#define P2P(version)                                                                                         \
    PLACE(version, p2p.function, p2p.func);                                                                  \
    PLACE(version, p2p.datatype, p2p.datatype);                                                              \
    PLACE(version, p2p.count, p2p.count);                                                                    \
    PLACE(version, p2p.peer, p2p.peer)
#define OLD(version)                                                                                         \
    PLACE(version, coll.name, coll.name);                                                                    \
    PLACE(version, coll.comm, coll.commHash);                                                                \
    PLACE(version, p2p.name, p2p.name);                                                                      \
    PLACE(version, p2p.comm, p2p.commHash)
#define FUNCTIONS(version)                                                                                   \
    SAME(sizeof(struct nccl_profiler_v##version), sizeof(ncclProfiler_v##version##_t));                      \
    SAME(offsetof(struct nccl_profiler_v##version, init), offsetof(ncclProfiler_v##version##_t, init));      \
    SAME(offsetof(struct nccl_profiler_v##version, start),                                                   \
         offsetof(ncclProfiler_v##version##_t, startEvent));                                                 \
    SAME(offsetof(struct nccl_profiler_v##version, stop), offsetof(ncclProfiler_v##version##_t, stopEvent)); \
    SAME(offsetof(struct nccl_profiler_v##version, state),                                                   \
         offsetof(ncclProfiler_v##version##_t, recordEventState));                                           \
    SAME(offsetof(struct nccl_profiler_v##version, finalize), offsetof(ncclProfiler_v##version##_t, finalize))

HEAD(1);
PROXY(1);
COLL(1, nMaxChannels);
P2P(1);
OLD(1);
FUNCTIONS(1);
HEAD(2);
PROXY(2);
COLL(2, nMaxChannels);
P2P(2);
OLD(2);
FUNCTIONS(2);
HEAD(3);
PROXY(3);
COLL(3, nMaxChannels);
P2P(3);
OLD(3);
FUNCTIONS(3);
HEAD(4);
PROXY(4);
COLL(4, nChannels);
P2P(4);
FUNCTIONS(4);
HEAD(5);
PROXY(5);
COLL(5, nChannels);
P2P(5);
FUNCTIONS(5);
HEAD(6);
PROXY(6);
COLL(6, nChannels);
P2P(6);
FUNCTIONS(6);
PLACE(4, kernel.channel, kernelCh.channelId);
PLACE(4, kernel.timer, kernelCh.pTimer);
PLACE(4, p2p.channels, p2p.nChannels);
PLACE(5, coll.parent_group, coll.parentGroup);
PLACE(5, p2p.parent_group, p2p.parentGroup);
PLACE(6, coll.parent_group, coll.parentGroup);
PLACE(6, p2p.parent_group, p2p.parentGroup);
PLACE(6, coll_api.function, collApi.func);
PLACE(6, coll_api.stream, collApi.stream);
PLACE(6, p2p_api.function, p2pApi.func);
PLACE(6, p2p_api.stream, p2pApi.stream);
PLACE(6, stream, kernelLaunch.stream);
PLACE(6, ce_coll.sequence, ceColl.seqNumber);
PLACE(6, ce_coll.function, ceColl.func);
PLACE(6, ce_coll.count, ceColl.count);
PLACE(6, ce_coll.root, ceColl.root);
PLACE(6, ce_coll.datatype, ceColl.datatype);
SAME(sizeof(struct nccl_descriptor_v6), sizeof(ncclProfilerEventDescr_v6_t));
SAME(offsetof(union nccl_state_arguments, proxy.bytes),
     offsetof(ncclProfilerEventStateArgs_v1_t, proxyOp.transSize));
SAME(offsetof(union nccl_state_arguments, timer), offsetof(ncclProfilerEventStateArgs_v4_t, kernelCh.pTimer));
SAME(NCCL_STATE_KERNEL_STOP, ncclProfilerKernelChStop);
SAME(NCCL_CE_COLL, ncclProfileCeColl);
SAME(NCCL_KERNEL_LAUNCH, ncclProfileKernelLaunch);
SAME(NCCL_KERNEL_CHANNEL, ncclProfileKernelCh);
#define STEP_AND_KERNEL(version) PLACE(version, step, proxyStep.step)
STEP_AND_KERNEL(1);
STEP_AND_KERNEL(2);
STEP_AND_KERNEL(3);
STEP_AND_KERNEL(4);
STEP_AND_KERNEL(5);
STEP_AND_KERNEL(6);
PLACE(3, net.id, netPlugin.id);
PLACE(4, net.id, netPlugin.id);
PLACE(6, net.data, netPlugin.data);
PLACE(6, ce_sync.complete, ceCollSync.isComplete);
PLACE(6, ce_sync.ranks, ceCollSync.nRanks);
PLACE(6, ce_batch.operations, ceCollBatch.numOps);
PLACE(6, ce_batch.bytes, ceCollBatch.totalBytes);
// A plugin that comes after us gets a copy of the whole descriptor: nothing beyond NCCL's own may be read for it.
#define NOT_LARGER(version)                                                                                  \
    _Static_assert(                                                                                          \
        sizeof(struct nccl_descriptor_v##version) <= sizeof(ncclProfilerEventDescr_v##version##_t), "")
NOT_LARGER(1);
NOT_LARGER(2);
NOT_LARGER(3);
NOT_LARGER(4);
NOT_LARGER(5);
NOT_LARGER(6);
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
SAME(NCCL_STATE_KERNEL_STOP, ncclProfilerKernelChStop);
SAME(NCCL_STATE_GROUP_STARTED, ncclProfilerGroupStartApiStop);
SAME(NCCL_STATE_GROUP_ENDING, ncclProfilerGroupEndApiStart);
SAME(NCCL_NET_IB, NCCL_PROFILER_NET_TYPE_IB);
SAME(NCCL_NET_SOCKET, NCCL_PROFILER_NET_TYPE_SOCK);
SAME(NCCL_NET_VERSION, NCCL_PROFILER_NET_IB_VER);
SAME(NCCL_NET_VERSION, NCCL_PROFILER_NET_SOCKET_VER);
// The type is one byte there; the rest of its word is nobody's.
SAME(offsetof(struct nccl_net_ib, device), offsetof(ncclProfilerNetIbDescr_v1_t, qp.device));
SAME(offsetof(struct nccl_net_ib, opcode), offsetof(ncclProfilerNetIbDescr_v1_t, qp.opcode));
SAME(offsetof(struct nccl_net_ib, bytes), offsetof(ncclProfilerNetIbDescr_v1_t, qp.length));
SAME(offsetof(struct nccl_net_socket, fd), offsetof(ncclProfilerNetSockDescr_v1_t, sock.fd));
SAME(offsetof(struct nccl_net_socket, operation), offsetof(ncclProfilerNetSockDescr_v1_t, sock.op));
SAME(offsetof(struct nccl_net_socket, bytes), offsetof(ncclProfilerNetSockDescr_v1_t, sock.length));
