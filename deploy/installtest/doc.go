// Package installtest tests the installation of Berth on a Kubernetes cluster: the chart with Helm, and the base with
// kustomize. It compares both with the manifests in deploy/ and installs them on `berth up`. It also installs the chart
// with the container image on a node that runs containers. Helm also installs a chart of an application, with
// definitions, hooks and tests.
package installtest
