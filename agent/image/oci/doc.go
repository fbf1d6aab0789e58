// Package oci builds container images from files and serves them as a registry.
//
// It builds the images that Berth itself needs: the pause image of sandboxes, and images for
// tests and demos. Builds are reproducible: layers have no timestamps and are owned by root.
package oci
