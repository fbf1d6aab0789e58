// Package testcluster starts `berth up` with virtual nodes in its own network namespace, for commands that run other
// software on it. It builds programs from Go modules, packs them as images, loads the images on the nodes and serves
// those that nodes always pull. It needs root.
package testcluster
