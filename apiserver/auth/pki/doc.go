// Package pki is the certificate authority of a cluster. Its files are in DATA-DIR/pki:
//
//	ca.key, ca.crt                the CA, which signs all certificates except those of the front proxy
//	apiserver.key, apiserver.crt  serving certificate of the API server
//	front-proxy-ca.key, .crt      separate CA that signs only front-proxy-client.crt
//	front-proxy-client.key, .crt  client certificate of front proxies, see FrontProxyUser
//	sa.key                        key that signs service account tokens (ES256)
//
// The package creates missing files and renews certificates at 70 to 90 % of their lifetime or if
// the serving names change. Client certificates of other components are not stored in the
// directory.
//
// Invariants:
//
//   - Keys are ECDSA P-256. Files have mode 0600 and are replaced atomically.
//   - A renewed CA keeps its key and subject, so existing certificates stay valid.
//   - No certificate outlives the CA.
//   - An unreadable file is an error and never replaced, because replacing the CA would invalidate
//     all credentials.
//
// A node agent serves with its client certificate. The API server checks the name of the node in
// the certificate and not the address.
//
// Differences from kubeadm: there is no CA of etcd, and certificates are renewed automatically.
package pki
