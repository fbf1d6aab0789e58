// Package deploy tests the files of this directory, which install and observe Berth on a Kubernetes cluster.
package deploy
