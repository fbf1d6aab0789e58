// Package unpack makes directories out of the layers of images, as overlay stacks
// them. What is in a layer may be hostile: it is given by whoever built the image.
//
// What it keeps to, each with a test:
//
//   - nothing is made, changed or read outside of the layer's directory: names with .. are refused, and
//     every path goes through os.Root, which follows no link out of it;
//   - no device is made. Those below dev/ are left out, since a container has a /dev of its own; any
//     other refuses the layer. Only whiteouts are device files, of number 0:0, made here;
//   - of extended attributes, only file capabilities and the user's own are set: overlay's own could
//     make it look elsewhere;
//   - bytes, inodes and names are bounded by a Budget for all layers of an image together, and a part of
//     the disk is left free, so that neither a small file that unpacks to a huge one nor a million empty
//     files do harm.
//
// Owners, modes (setuid included) and times are as in the layer. It needs root.
//
// A whiteout counts for lower layers alone: what the same layer makes under that name stays.
package unpack
