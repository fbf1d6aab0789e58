// Package volume binds PersistentVolumes and PersistentVolumeClaims. It combines upstream's
// persistentvolume-controller and the PV and PVC protection controllers.
//
//   - A claim of an Immediate class gets the smallest available volume that matches in class, size,
//     access modes, volume mode and selector; by name among equals.
//   - A claim of a WaitForFirstConsumer class waits until the scheduler has reserved a volume
//     for it (claimRef) or has selected a node (annotation selected-node). Then an annotation
//     requests a volume from the provisioner.
//   - A binding has four steps: claimRef, phase of the volume, volumeName with annotation
//     bind-completed, phase of the claim. An incomplete binding is completed.
//   - A bound claim whose volume is deleted is Lost. A volume whose claim is deleted is Released
//     and reclaimed by its policy: Retain keeps it, Delete is left to the provisioner that created it.
//   - A claim without a class gets the default class, also if the claim is older than the class.
//   - A claim in use by a pod on a node, and a bound volume, are protected from deletion.
//
// Every write carries the resource version of the object that it is based on; a conflict leads
// to a retry. Before data may be deleted, the controller reads the claim from the API server.
//
// Differences from Kubernetes: volumes are not recycled and no in-tree plugin deletes volumes (both
// lead to Failed with a reason). The controller does not watch pods. It checks at intervals from 0.5 s
// to 30 s whether a claim that is being deleted is in use. The event of a claim that waits for its first
// consumer does not name a waiting pod.
package volume
