// Package disk reports what uses the space of a node's disks: which image, log or volume of
// which pod (`berth explain node NAME --disk`). The kubelet's Summary API does not attribute image
// layers, orphaned directories or other files.
//
// A report is measured on request, in allocated blocks:
//
//   - An image uses its compressed content and its unpacked layers. The size of a layer shared
//     by several images is divided between them, so that the parts add up to the whole.
//   - A container, including a terminated one, uses its writable layer and its logs.
//   - A pod's volumes count if they are on the node's own disk.
//   - Directories of pods unknown to the agent are orphaned.
//   - The rest of a file system's used space is reported as "other": other programs, and the
//     runtime's own data.
package disk
