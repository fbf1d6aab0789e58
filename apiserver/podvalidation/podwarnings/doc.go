// Package podwarnings returns the warnings for pods and pod templates that are valid but likely
// mistaken.
package podwarnings
