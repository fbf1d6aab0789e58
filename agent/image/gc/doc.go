// Package gc removes from a node what nobody uses any more: images, dead
// containers with their logs (features.md 1.2.7). Sandboxes and directories of pods that are
// gone are agent/pods' to remove.
//
// Images: every 5 minutes, when their file system is used to at least the high mark
// (85 %), unused ones are removed until it is at the low mark (80 %): the one
// used longest ago first. An image of a container, dead ones too, or of a pod's volume
// is in use; pinned ones, the sandboxes' and those younger than the minimum age stay.
// Unused ones older than the maximum age go whatever the disk says, but not before the
// agent has run for that long. Ages count from when the image was pulled (Came), or seen first at start;
// the kubelet's from its next look, up to 5 minutes later, so that it evicts pods beside images that
// nobody uses.
//
// Containers: every minute, of each pod's container the newest dead one is kept, for
// its log; those of pods that are gone go.
//
// Under disk pressure Reclaim removes dead containers of finished pods and unused
// images at once.
//
// Invariants:
//   - What is freed is measured by statfs after each removal, not added up from
//     the sizes that the runtime tells, which are those of compressed content (node.md 1.3).
//   - Images are removed by id, so that those without a tag go as well.
//   - On a disk without a free byte the runtime can remove nothing, since it has to note what it
//     does: the ballast, a file kept for that moment, is given up first.
package gc
