// Package loopdisk creates disks of a fixed size in files. It reserves the blocks of a file,
// creates an ext4 file system in it without any installed program, and mounts it on a loop device.
//
// Invariants:
//
//   - All blocks of a file from Create are allocated, so writes to the file system cannot fill the
//     disk that holds the file.
//   - A file is on at most one loop device, because two would corrupt the file system.
//
// Mount needs root and loop devices.
package loopdisk
