// Package serviceaccount creates what every pod needs to reach the API server. Each namespace gets the
// ServiceAccount "default", and the ConfigMap "kube-root-ca.crt" with the CA certificate. It restores both after
// changes and deletions. It ignores namespaces that are being deleted.
//
// It combines the upstream controllers serviceaccount-controller and root-ca-certificate-publisher-controller.
//
// Invariants: an existing ServiceAccount is never changed, since users add pull secrets to it. The ConfigMap has
// only the key ca.crt; other keys are removed, as upstream does.
package serviceaccount
