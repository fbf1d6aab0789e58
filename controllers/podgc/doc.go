// Package podgc carries out what engine/podgc decides, every 20 s: pods of nodes that are gone or out of service,
// pods that were never bound, and those that have ended and are too many, are removed without grace.
//
// What has not ended has failed. A pod whose node is gone is displaced, with a record; for that its node is
// asked of the server first, since a watch may lag.
package podgc
