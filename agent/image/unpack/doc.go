// Package unpack unpacks image layers into directories for overlayfs. Layers are untrusted
// input.
//
// Guarantees, each with a test:
//
//   - Nothing outside of the layer's directory is created, changed or read. Names with ".." are
//     rejected, and all paths go through os.Root, which does not follow links out of the directory.
//   - No devices are created. Those below dev/ are skipped, because containers have their own
//     /dev; other devices are an error. The only device files are whiteouts (0:0), created here.
//   - Of the layer's extended attributes, only file capabilities and user.* are set, but not
//     user.overlay.*, which overlayfs interprets.
//   - A Budget limits bytes, inodes and names of all layers of an image together and leaves part
//     of the disk free. Neither a zip bomb nor a million empty files can exhaust the disk.
//
// Owners, modes (including setuid) and times are preserved, which requires root.
//
// A whiteout applies to lower layers only: a file of the same name in the same layer is kept.
package unpack
