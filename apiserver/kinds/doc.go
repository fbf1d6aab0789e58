// Package kinds is the table of every resource that the API server serves.
//
// A row (a Kind) names the Go type, the resource, its short names, selectable fields and subresources. It has hooks for
// defaulting, preparation, validation and warnings. A row without hooks already serves create, get, list, watch,
// update, patch, apply, delete and tables.
//
// To add a kind, change three files:
//
//   - kinds/GROUP.go: the row. New groups are added to All.
//   - validation/GROUP/KIND.go: the functions for the hooks. By convention they are DefaultKIND,
//     PrepareKINDForCreate, PrepareKINDForUpdate, PrepareKINDStatusUpdate, ValidateKIND,
//     ValidateKINDUpdate, ValidateKINDStatusUpdate and KINDWarnings.
//   - tables/GROUP.go: the columns of kubectl get.
//
// If the Go type is in a new package, add the package to the go:generate line in openapi/doc.go and
// run `go generate ./apiserver/openapi`.
//
// Invariants: a resource is declared once. A kind has one stored version. Two kinds that share a
// store (the two kinds of Event) share the Go type of the hub kind. Validation does not modify
// objects, and preparation does not reject them. Errors have the reason, field path, order and text
// of kube-apiserver v1.36 with its default feature gates.
package kinds
