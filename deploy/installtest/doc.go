// Package installtest tests the installation of Berth on a Kubernetes cluster: the chart with Helm, and the base with
// kustomize. Both are compared with the manifests in deploy/ and installed on `berth up`. The chart is also installed with the
// container image on a node that runs containers. Helm installs a chart of an application, with definitions, hooks and
// tests.
package installtest
