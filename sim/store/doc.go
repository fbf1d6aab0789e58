// Package store is an API server in memory, for virtual time: objects by kind
// and name, one revision for all of them, preconditions on UID and
// resourceVersion, bindings that are granted once, and pods that are deleted with
// grace. It answers with the errors of a real one.
//
// Objects are immutable once they are in: who changes one gets a shallow copy and
// replaces what it changes (Change). So a reader may keep what it was given.
//
// Every commit is notified to Hook, in order; watches with their lag and their losses are
// made from it, in sim.
//
// Uids are made of the key and the number of namesakes before ("default/web#2"),
// so that they do not depend on what else happened.
//
// Departure: nothing is defaulted or validated here; who writes an object
// writes it as a real API server would store it.
package store
