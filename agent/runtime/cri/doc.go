// Package cri implements runtime.Service as a thin client of CRI v1.
//
// It adds to the generated client:
//
//   - Dial waits for the socket file, because gRPC backs off for a second if there is none.
//   - Calls time out like the kubelet's (--runtime-request-timeout). Read-only calls are retried
//     while the runtime is unavailable, so that they succeed across its restart. Other calls are
//     retried only if the runtime certainly did not receive them. Otherwise they fail with code
//     Unavailable, and the caller must check their effect.
//   - Events reads containerd's own event service if the runtime is containerd, because
//     containerd before 1.7 has no GetContainerEvents. An exit is reported when the runtime's
//     status shows it, but at most 2 s late. If the runtime has no events, the error is Unimplemented: poll
//     ListContainers instead.
//
// Lists are single messages of at most 64 MiB, about ten thousand containers.
package cri
