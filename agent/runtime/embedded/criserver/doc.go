// Package criserver serves CRI v1 (RuntimeService and ImageService) for an embedded runtime. It
// serves the agent of the same process in memory (Connect), and a socket for `berth runtime`.
//
// It is a thin adapter: each call checks its arguments, calls the runtime's Go API and converts the
// result. It adds what CRI has and the Go API does not:
//
//   - IDs may be shortened to a unique prefix, as crictl prints them.
//   - Events of sandboxes, and of containers for creation, start and removal. The runtime
//     itself reports only exits of containers.
//   - Metrics, which are computed from the statistics.
//   - The code and detail of errors that the agent distinguishes.
//
// Calls that the runtime cannot perform fail with code Unimplemented or InvalidArgument, and the
// message names the call or field. The socket belongs to root (mode 0600): access to it is access to
// the node.
package criserver
