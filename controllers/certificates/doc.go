// Package certificates approves, signs and removes CertificateSigningRequests (certificates.k8s.io/v1).
//
// It approves a request of a node for its own client certificate (kubernetes.io/kube-apiserver-client-kubelet), and
// for a serving certificate (kubernetes.io/kubelet-serving) with its name, and with addresses of its Node object that no
// other node, no Service and no API server has. All other requests wait for a decision by a user.
//
// It signs approved requests of these signers and of kubernetes.io/kube-apiserver-client with the authority of the
// cluster if the signer accepts their subject, names and usages. Other approved requests of these signers get the
// condition Failed.
//
// It removes requests as kube-controller-manager does: an hour after they were issued or denied, or when their
// certificate has expired, and a day after their creation without a decision.
package certificates
