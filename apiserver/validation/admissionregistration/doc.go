// Package admissionregistration has defaulting and validation of webhook configurations and
// admission policies. CEL expressions are compiled: a policy whose expressions do not compile is
// rejected.
package admissionregistration
