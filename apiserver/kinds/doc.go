// Package kinds is the table of everything the API server serves: one Kind
// value a resource, nothing else to touch to add one.
//
// A row names the Go type, the resource and how it is looked at (short names,
// selectable fields, columns), and may carry hooks: defaults, preparation,
// validation, warnings, graceful deletion. A row without hooks is three lines
// and already has create, get, list, watch, update, all patches, server-side
// apply, delete and tables. The rules behind the hooks live in
// apiserver/podvalidation (pods and pod templates), apiserver/validation (all other
// kinds) and apiserver/tables (printer columns); this package only joins them.
//
// Invariants: every resource is declared once; a kind has exactly one stored
// version; two kinds that share a store (core and events.k8s.io Events) share
// one Go type, that of the hub.
package kinds
