// Package nodeclient provides connections from the API server to node agents.
//
// A node agent serves at the URL in the annotation berth.dev/agent-url. Without the annotation, the agent serves at
// the address of the node (InternalIP, ExternalIP or Hostname, in this order) and the port in status.daemonEndpoints.
// Both sides authenticate with client certificates of the cluster's CA.
//
// Invariants:
//
//   - The API server sends nothing to an agent unless the CA has signed the agent's certificate for
//     the node. The address in the Node object does not matter. A node cannot impersonate another
//     node.
//   - Redirects are not followed.
//
// Differences from Kubernetes: kube-apiserver verifies the address in the certificate of a kubelet,
// and only if --kubelet-certificate-authority is set. insecureSkipTLSVerifyBackend of pods/log is ignored.
package nodeclient
