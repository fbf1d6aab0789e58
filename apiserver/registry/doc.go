// Package registry serves one kind of the table from a store: it is the
// generic strategy (create, update, status, delete), the store's construction and
// the conversion to tables that all kinds share. What is particular to a kind
// comes from the hooks of its row and nowhere else.
//
// Order of a write, as in Kubernetes: decode and default, mutating admission,
// reset what the caller may not set, prepare, validate, validating admission,
// warn, store.
//
// Invariants: the main resource never changes status and a status write never
// changes anything but status and metadata, if the kind has a status; the
// fields that are reset on a write are those that server-side apply is told
// about, so no manager owns a field whose value was dropped.
package registry
