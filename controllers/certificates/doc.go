// Package certificates approves, signs and removes CertificateSigningRequests (certificates.k8s.io/v1).
//
// It approves a request of a node for its own client certificate (kubernetes.io/kube-apiserver-client-kubelet) and for
// a serving certificate (kubernetes.io/kubelet-serving). The serving certificate may have the name of the node and
// addresses of its Node object. No other node, no Service and no API server may have these addresses. It approves a
// request of a component of Berth for its own client certificate (kubernetes.io/kube-apiserver-client), and a request
// of a process of simulated nodes (berth.dev/simulated-nodes). All other requests wait for a decision by a user.
//
// It signs approved requests of these signers with the certificate authority of the cluster if the signer accepts their
// subject, names and usages. Other approved requests of these signers get the condition Failed.
//
// It removes requests as kube-controller-manager does: an hour after they were issued, denied or failed, and when
// their certificate has expired. It also removes them a day after an approval without a certificate, and a day
// after their creation without a decision.
package certificates
