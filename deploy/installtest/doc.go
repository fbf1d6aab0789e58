// Package installtest tests the installation of Berth on a Kubernetes cluster: the chart with Helm, and the base with
// kustomize. Both are compared with the manifests in deploy/ and installed on `berth up`.
package installtest
