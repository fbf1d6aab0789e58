// Package installtest tests the installation of Berth on a Kubernetes cluster: the chart with Helm, and the base with
// kustomize. Both are compared with the manifests in deploy/ and installed on `berth up`. It also tests that Helm installs
// a chart of an application on `berth up`, with definitions, hooks and tests.
package installtest
