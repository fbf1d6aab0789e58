// Package pki is the certificate authority of a cluster: one directory
// (DATA-DIR/pki) with what must outlive a restart.
//
//	ca.key, ca.crt                the authority; signs everything below
//	apiserver.key, apiserver.crt  the API server's serving certificate
//	sa.key                        signs service-account tokens (ES256)
//
// It decides which of these are missing, about to expire or no longer fit (a
// new listen address), and makes only those again. Client certificates are
// not kept here: they are minted into kubeconfig files.
//
// Invariants:
//
//   - Every key is ECDSA P-256; every file is 0600 and appears whole or not at all.
//   - A renewed CA keeps its key and subject, so certificates signed before stay valid.
//   - No certificate outlives the CA that signed it.
//   - A file that cannot be read is an error that names it; it is never replaced,
//     because replacing a CA locks every client out.
//
// Agents serve with the certificate that they are clients with: it says which
// node they are, and that is what the API server checks, not an address.
//
// Departures from Kubernetes: kubeadm spreads this over three authorities
// (cluster, front proxy, etcd) and leaves renewal to the operator; Berth's etcd
// is in process and there is no front proxy, so one authority is enough.
package pki
