// Package deploy tests the files of this folder, which install and observe Berth on a
// Kubernetes cluster.
package deploy
