// Package flowcontrol has the defaulting and validation of FlowSchema and PriorityLevelConfiguration.
// The errors are those of kube-apiserver.
package flowcontrol
