// Package localprovisioner provisions volumes as directories of the local machine, with the provisioner
// berth.dev/local-directory and the class berth-local.
//
// It provisions claims that name the provisioner (annotation storage-provisioner) and have a selected node. Each gets
// the directory ROOT/NODE/pvc-UID and a local PersistentVolume with affinity to that node. A Released volume with the
// policy Delete is deleted together with its directory.
//
// Invariants:
//
//   - Nothing outside the root directory is created or removed, regardless of the
//     content of a PersistentVolume and of symbolic links (os.Root).
//   - A directory's name contains the claim's UID, so that no claim gets the data of
//     another, and a retry finds its own directory.
//   - A volume is read from the API server before its data is deleted.
//
// All nodes with such volumes must run on the local machine, as virtual nodes do. The node's agent enforces the
// capacity: it reserves the capacity in a disk image, DIRECTORY.img, and mounts the image on the directory.
package localprovisioner
