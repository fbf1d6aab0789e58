// Package volume sets up the volumes of a node's pods, provides their mounts, refreshes their
// files, and removes them with the pod.
//
//	Prepare(pod) ─▶ ROOT/pods/UID/volumes/KIND/NAME, for each volume a container uses
//	Mounts(pod, container) ─▶ mounts for the runtime; subPaths are bind-mounted at
//	                          ROOT/pods/UID/volume-subpaths/VOLUME/CONTAINER/INDEX
//	Run ─▶ refreshes configMaps, secrets, downward API files and tokens
//	Teardown(uid) ─▶ unmounts and removes everything
//
// Supported kinds are emptyDir (disk and memory), hostPath, image, configMap, secret, downwardAPI and
// projected. Claims may be ephemeral, or bound to a local or hostPath PersistentVolume (Filesystem or
// Block). Directories have the kubelet's names. The runtime mounts images, except containerd before
// 2.1: MountImage then mounts a read-only snapshot.
//
// Invariants, each covered by a test:
//
//   - Prepare and Teardown are idempotent, also across restarts of the agent. Prepare never
//     changes what a pod has written.
//   - A container sees the files of one version of a configMap or secret, never of two. Versions
//     change by replacing one symbolic link.
//   - A subPath never leaves its volume, even if the pod changes links concurrently.
//   - Teardown does not remove data mounted from elsewhere. It removes nothing while a mount
//     cannot be unmounted.
//   - Secrets and tokens are stored on tmpfs, never on disk.
//
// ConfigMaps and Secrets are read with the node's credential when a pod is prepared, and about every 40 s while in use.
// One request serves all pods. Immutable objects are read once. Tokens are renewed after 80 % of their lifetime or 24
// hours, whichever is sooner.
//
// Differences from Kubernetes: objects in use are polled, not watched. Other kinds of volumes
// (CSI, network file systems, huge pages) are rejected with an error that lists the supported ones.
package volume
