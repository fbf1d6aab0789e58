// Package downwardapi evaluates fieldRef and resourceFieldRef for environment variables and
// volume files.
//
// Values have the kubelet's format: labels and annotations are sorted key="value" lines, and
// resources are divided by the divisor and rounded up. A container without a limit gets the
// node's allocatable.
package downwardapi
