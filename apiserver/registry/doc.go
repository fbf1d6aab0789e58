// Package registry serves a kind of the table from a store. It has the generic create, update, status
// and delete strategy, the construction of the store, and the conversion to tables. Everything
// specific to a kind is in its row.
//
// As in Kubernetes, a write passes these steps: decoding and defaulting, mutating admission, reset
// of protected fields, preparation, validation, validating admission, warnings, store.
//
// Invariants: if a kind has a status, the main resource never changes the status, and the status
// subresource changes only status and metadata. The reset fields are those that server-side apply
// gets, so no field manager owns a field that was reset.
package registry
