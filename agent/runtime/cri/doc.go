// Package cri speaks to a container runtime over CRI v1: a thin client, without
// a judgement of its own, that implements runtime.Service.
//
// What it adds to the generated client:
//
//   - Dial waits for the socket file first, since a gRPC client that finds none
//     backs off for a second (node.md 1.2).
//   - Each call has a time limit, after the kubelet's --runtime-request-timeout. Calls
//     that only read are tried again while the runtime is away, until their limit, so
//     that a restart of the runtime is not seen; so are calls that change something if the runtime has
//     certainly not heard them. Otherwise these fail with code Unavailable, and who made them looks at what came of it.
//   - Events asks containerd's own event service where the runtime is containerd,
//     since GetContainerEvents is missing before 1.7. A runtime with neither answers
//     Unimplemented: list the containers then. An end is told when the runtime's own
//     status shows it.
//
// Lists come in one message each: at most 64 MiB, some ten thousand containers.
package cri
