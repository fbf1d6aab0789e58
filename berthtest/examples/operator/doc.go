// Package operator is a small operator and its tests with package berthtest. A Pool (example.com/v1) has a number of
// replicas. The operator creates the pods, replaces those that terminate or are deleted, and reports in the condition
// Available whether all of them are ready.
package operator
