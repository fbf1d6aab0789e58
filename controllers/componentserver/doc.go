// Package componentserver serves health checks, metrics, configuration and debugging data of a component over HTTPS.
//
//	/livez /healthz /readyz   no authentication
//	all other paths           a client certificate or bearer token of a user who may get the path
//
// Serving, authentication and authorization are those of k8s.io/apiserver, as in Kubernetes components. The server
// verifies client certificates with the CA that the API server publishes in the ConfigMap
// kube-system/extension-apiserver-authentication. The API server reviews tokens and access; the server caches the
// results. Members of system:masters may get every path. Without a configured serving certificate the server
// creates a self-signed one.
package componentserver
