// Package build creates cluster objects for tests of the placement packages: nodes, pods,
// states and random generators.
package build
