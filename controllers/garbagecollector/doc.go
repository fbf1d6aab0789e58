// Package garbagecollector deletes objects whose owners no longer exist.
//
// It watches the metadata of all deletable resources except events and keeps a graph of owners and dependents. It
// discovers the resources and their preferred versions every 30 s, and after a change of a CustomResourceDefinition.
// The deletion request of an owner determines what happens to its dependents; the API server records it in the owner's
// finalizers:
//
//	background   the API server deletes the owner; the garbage collector then deletes its dependents
//	foreground   the owner waits (foregroundDeletion) until no dependent blocks it
//	orphan       the owner waits (orphan) until no dependent refers to it
//
// Invariants, each covered by a test:
//
//   - an object is deleted only if each owner is deleted or in foreground deletion according to the API server, not
//     the cache, and only in the observed resource version;
//   - if an object has several owners, references to deleted owners are removed and the object stays;
//   - an owner is in the same namespace as the dependent, or cluster-scoped; an object in another namespace
//     with the same UID is not the owner;
//   - a cluster-scoped dependent of a namespaced owner is never deleted; an event reports it;
//   - a kind is watched in its preferred version, and objects that were deleted while it was not watched are removed;
//   - a cycle of owners in foreground deletion does not block forever;
//   - an owner of a kind that the API server does not serve never leads to a deletion.
package garbagecollector
