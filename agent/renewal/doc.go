// Package renewal keeps the certificates of a node agent or another component valid, as the kubelet does. It requests
// new ones through the certificates API at 70 to 90 % of their lifetime, and stores them in a directory. The client
// uses a new certificate without a restart, and so does the server.
//
// A credential that is not a client certificate of the node or component itself is not renewed. Serving certificates
// are requested only if the credential is valid for servers, as those of `berth credentials` are: other clusters may
// not approve them.
package renewal
