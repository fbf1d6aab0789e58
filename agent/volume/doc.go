// Package volume makes the volumes of a node's pods, mounts them into
// containers, keeps their files current and removes them with the pod.
//
//	Prepare(pod) ─▶ ROOT/pods/UID/volumes/KIND/NAME, for each volume a container uses
//	Mounts(pod, container) ─▶ what the runtime mounts; subPaths are bound at
//	                          ROOT/pods/UID/volume-subpaths/VOLUME/CONTAINER/INDEX
//	Run ─▶ files of mounted configMaps, secrets, downward API and tokens follow their sources
//	Teardown(uid) ─▶ all of it unmounted and removed
//
// Kinds: emptyDir (disk, memory), hostPath, claims bound to a local or hostPath
// PersistentVolume (files or block), ephemeral claims, configMap, secret,
// downwardAPI, projected. Directories are called as the kubelet calls them.
//
// Invariants, each held by a test:
//
//   - Idempotent: Prepare and Teardown may be repeated, also by an agent that
//     was restarted in between; Prepare never touches what a pod has written.
//   - WholeOrOld: a container sees the files of one version of a configMap or
//     secret, never of two (they change by the swap of one symbolic link).
//   - Inside: a subPath never leaves its volume, whatever links the pod has made
//     in it and however it changes them meanwhile.
//   - NothingOfOthers: Teardown removes nothing that is mounted from elsewhere;
//     while something cannot be unmounted, nothing is removed.
//   - Secrets and tokens lie in memory (tmpfs), not on the disk.
//
// configMaps and secrets are read with the node's rights: when a pod is prepared,
// and for those in use again every 40 s or so, each one once for all pods of
// the node; immutable ones once. Tokens are renewed when 80 % of their life or
// 24 hours are over.
//
// Departures from Kubernetes: what is in use is read again instead of watched; other
// kinds (CSI, network file systems, images, huge pages) are refused by name.
package volume
