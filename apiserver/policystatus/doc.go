// Package policystatus checks the types of ValidatingAdmissionPolicies and writes the warnings to
// their status. An expression that refers to a field which the matched kinds do not have is stored,
// but its status names the problem.
package policystatus
