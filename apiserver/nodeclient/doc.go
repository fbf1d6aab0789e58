// Package nodeclient is how the API server gets to the agents of nodes: where an
// agent answers, and how both know that they speak to whom they think.
//
// The agent of a node answers at the node's address (InternalIP, then
// ExternalIP, then Hostname, as kubeadm sets it up) and its status's
// daemonEndpoints port, or at the URL of the node's annotation
// berth.dev/agent-url. The server shows a client certificate; the agent shows
// the one that it is a client with.
//
// Invariants:
//
//   - Nothing is sent to an agent whose certificate is not signed by the
//     cluster's authority, or is not for the node that is meant, whatever address
//     the Node object says: a node cannot speak for another, and cannot make the
//     server speak to somebody else.
//   - What comes back from an agent is data; redirects are not followed.
//
// Departures from Kubernetes: kubelets' certificates are checked by address,
// and by default not at all (--kubelet-certificate-authority).
// insecureSkipTLSVerifyBackend of pods/log is ignored: the check always holds.
package nodeclient
