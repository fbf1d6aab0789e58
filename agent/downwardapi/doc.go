// Package downwardapi reads what a container may be told of its own pod: the fields
// of fieldRef and resourceFieldRef, for environment variables and for files.
//
// Values are worded as the kubelet words them: labels and annotations as sorted
// lines key="value", resources as whole numbers of the divisor, rounded up. A
// container without a limit is told the node's allocatable.
package downwardapi
