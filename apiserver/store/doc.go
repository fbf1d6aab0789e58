// Package store stores the objects of the API server in etcd: an embedded single-member etcd without
// a socket, or an external cluster. Objects are stored as protobuf below /registry. Each resource has
// a watch cache unless its kind disables it.
//
// Invariants: the embedded etcd syncs to disk before it acknowledges a write. One process at a time
// uses a data directory; it holds DATA-DIR/lock. After a crash, all acknowledged writes are present.
package store
