// Package serviceaccount gives every namespace what each pod needs to reach the
// API server: the ServiceAccount "default", and the ConfigMap
// "kube-root-ca.crt" with the certificate to check the server by. Deleting or
// changing either brings it back. A namespace that is being deleted gets
// nothing any more.
//
// It is upstream's service-account controller and root-ca-cert publisher in one
// loop, because both answer the same question: is this namespace furnished?
//
// Invariants: a present ServiceAccount is never changed (people add pull
// secrets to it); only the key ca.crt of the ConfigMap is Berth's, but other keys
// are dropped as upstream does, so that the map is what its name says.
package serviceaccount
