// Package podtemplate creates pods from pod templates and compares templates. All functions are pure; the
// workload controllers and the simulator use them.
//
// The hash differs from upstream's: it is computed from the template's JSON, so that fields of a
// later release do not change it. It only serves as a name, since templates are matched by comparing
// them (Equal).
package podtemplate
