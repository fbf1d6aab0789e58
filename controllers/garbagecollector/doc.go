// Package garbagecollector deletes objects whose owners are gone.
//
// It watches the metadata of everything that can be deleted, but events, and keeps who belongs to whom
// (graph). Which kinds those are, in which version, is asked every 30 s. What happens to dependents is what the deletion of their owner asked for; the API server
// has written that into the owner's finalizers:
//
//	background   the owner goes at once; its dependents are found without one, and deleted
//	foreground   the owner waits (foregroundDeletion) until no dependent is left that blocks it
//	orphan       the owner waits (orphan) until its dependents do not refer to it any more
//
// Invariants, each held by a test:
//
//   - an object is deleted only if each of its owners is gone or goes in the foreground, as the API
//     server, not the cache, says, and only in the version that was looked at;
//   - of several owners, those that are gone are taken off, and the object stays;
//   - an owner is one of the same namespace, or of none: another object with its uid is none. A dependent without a
//     namespace whose owner has one is never deleted; an event says so;
//   - a kind is watched in the version that is preferred by now, and what went while nobody watched is forgotten;
//   - owners in a circle that are deleted in the foreground do not wait for each other for ever;
//   - an owner of a kind that the API server does not know is no reason to delete anything.
package garbagecollector
