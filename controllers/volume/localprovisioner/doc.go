// Package localprovisioner provisions volumes as directories of this machine: the provisioner
// berth.dev/local-directory, and the class berth-local that uses it.
//
// A claim that names it (annotation storage-provisioner), and for which the scheduler has
// selected a node, gets the directory ROOT/NODE/pvc-UID and a local PersistentVolume that only
// that node reaches. A volume that is Released under the policy Delete goes, with its directory.
//
//   - InsideRoot: nothing outside of the root directory is made or removed, whatever a
//     PersistentVolume says, symbolic links included (os.Root).
//   - NamedByUID: a directory's name holds the claim's uid, so that no claim finds the data of
//     another, and a repetition finds its own.
//   - A volume is read from the API server itself before its data is deleted.
//
// The nodes are those whose agents run on this machine, as the simulated ones do. What a
// claim asks for is not enforced: a directory has no size.
package localprovisioner
