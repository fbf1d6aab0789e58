// Package volume is the loop that brings PersistentVolumes and PersistentVolumeClaims
// together, as Kubernetes' persistentvolume-controller and the controllers that
// protect volumes and claims in use do.
//
//   - A claim of an Immediate class gets the smallest free volume that suits it: class, size,
//     access modes, volume mode, selector; by name among equals.
//   - One of a WaitForFirstConsumer class waits until the scheduler has reserved a volume
//     for it (claimRef), or has selected a node for it (annotation selected-node); then its
//     provisioner is called upon by annotation.
//   - A binding is written in four steps: claimRef, phase of the volume, volumeName with
//     annotation bind-completed, phase of the claim. Whoever finds it halfway finishes it.
//   - A bound claim whose volume is gone is Lost. A volume whose claim is gone is Released,
//     and reclaimed by its policy: Retain leaves it, Delete is up to the provisioner that made it.
//   - A claim without a class is given the default class, also one that is older than that.
//   - A claim in use by a pod on a node, and a bound volume, are not removed before that ends.
//
// Every write carries the resource version of what it was decided on; a conflict means
// to look again. That a claim is gone, on which data may be deleted, is asked of the API
// server itself and not of a cache.
//
// Departures from Kubernetes: nothing is recycled, and no in-tree plugin deletes (Failed
// in both cases, with a reason). Pods are not watched: whether one uses a claim that is to be
// deleted is asked at growing intervals, half a second to thirty. The event of a
// claim that waits for its consumer does not name a pod that waits with it.
package volume
