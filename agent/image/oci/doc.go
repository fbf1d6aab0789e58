// Package oci makes container images out of files, without a build tool, and
// serves them as a registry does.
//
// It is for images that Berth makes itself: the pause program of sandboxes, and
// what tests and demos run. The same files give the same digest on every machine: there
// is no time and no owner in a layer but 0.
package oci
