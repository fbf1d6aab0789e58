// Package podgc executes the decisions of engine/podgc every 20 s. It force-deletes pods of deleted nodes and of
// nodes out of service, terminating pods that were never bound, and finished pods beyond the threshold.
//
// The controller sets a pod that has not finished to Failed before it deletes the pod. It displaces a pod of a deleted
// node with a record. Before that it reads the node from the API server, because the watch may lag behind.
package podgc
