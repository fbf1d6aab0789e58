// Package disk says what holds the space of a node's disks: which image, which log, which
// volume, of which pod (berth explain node NAME --disk). A full disk is otherwise a riddle: the
// kubelet tells how full it is, and not of what (kubernetes#71869).
//
// Figures are measured when they are asked for, by blocks on the disk:
//
//   - An image holds its compressed content and its unpacked layers; a layer of several
//     images counts in equal parts for each, so that the parts add up to the whole.
//   - A container holds what it has written onto its image, a dead one too, and its logs.
//   - A pod's volumes hold what is on the node's own disk; those in memory do not count.
//   - Directories of pods that the agent does not know are left over.
//   - Whatever remains of what a file system has in use is other: files of programs
//     beside Berth, and the runtime's own.
package disk
