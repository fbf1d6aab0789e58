// Package tables decides what kubectl get shows of each kind: the columns that
// the API server answers with when a client asks for a Table, and the cells of
// one object.
//
// It answers for the API server's registry, and through it for kubectl, which
// prints columns of priority 0 always and those of priority 1 with -o wide.
//
// Invariants: a row has as many cells as the table has columns; names, types,
// formats, priorities and cells are those of kube-apiserver v1.36. Ages are
// told by the wall clock, nothing else is.
//
// Departures: descriptions of columns are the server's own words; rows carry no conditions.
package tables
