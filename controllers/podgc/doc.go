// Package podgc executes the decisions of engine/podgc every 20 s. It force-deletes pods of deleted nodes and of
// nodes out of service, terminating pods that were never bound, and finished pods beyond the threshold.
//
// Pods that have not finished are set to Failed first. A pod of a deleted node is displaced with a record. The
// controller first reads the node from the API server, because the watch may lag behind.
package podgc
