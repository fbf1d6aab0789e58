// Package rungroup runs the components of a cluster in one process and stops all
// of them when one stops.
package rungroup
