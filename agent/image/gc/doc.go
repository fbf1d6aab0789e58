// Package gc garbage-collects images and terminated containers. Package agent/pods removes the
// sandboxes and directories of removed pods.
//
// Images: every 5 minutes the collector compares the usage of the image file system with the
// high threshold (85 %). If the usage is at or above the threshold, the collector removes unused
// images until the usage is at the low threshold (80 %). The least recently used image is first. An
// image is in use if a container, running or terminated, or a pod's image volume refers to it. The collector
// keeps pinned images, sandbox images and images younger than the minimum age. It removes images
// that are unused for longer than the maximum age at any usage, once the agent has run for that
// long. The minimum age counts from the pull (ImagePulled), or from the agent's start. The kubelet
// counts it from its next image scan, up to 5 minutes later. Until then it may evict pods although
// it could remove images.
//
// Containers: every minute the collector removes terminated containers. For each container of a
// pod, it keeps the newest terminated instance, for its log. It keeps none of removed pods.
//
// Under disk pressure, Reclaim immediately removes the terminated containers of finished pods and
// all unused images that are older than the minimum age.
//
// Invariants:
//
//   - The collector measures the freed space with statfs after each removal, because the runtime may
//     report the size of compressed content.
//   - Images are removed by ID, so that untagged images are removed too.
//   - On a full disk the runtime cannot record the removal of an image. The collector then
//     deletes the ballast file first.
package gc
