// Package store is an in-memory API server for virtual time. It has objects by kind and key, with
// one revision for all of them. It supports preconditions on UID and resourceVersion, bindings
// that succeed once, and graceful deletion of pods. It returns the errors of a real API server.
//
// Stored objects are immutable. Update passes a shallow copy to its function, which replaces what
// it changes, so readers may keep objects. OnCommit receives every commit in order; package sim
// derives lagging watches from it.
//
// UIDs consist of the key and the number of earlier objects with that key ("default/web#2"), so
// that they do not depend on other events.
//
// Writes apply no defaults and no validation. Callers must prepare objects as a real API server would store them, with
// ApplyDefaults and AdmitPod.
package store
