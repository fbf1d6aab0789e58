// Package store keeps the API server's objects in etcd: a member embedded in
// the process and reached without a socket, or an external cluster.
//
// Both are one Backend with one client; the rest of the server does not see
// the difference. Objects are stored as protobuf under /registry, every resource with a
// watch cache before it unless its row says no.
//
// Invariants: the embedded member always syncs to disk before it
// acknowledges; a data directory is used by one process at a time, which holds
// DATA-DIR/lock; a restart (after kill -9 too) goes on with what was acknowledged.
package store
