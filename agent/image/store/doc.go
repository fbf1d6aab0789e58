// Package store keeps the images of the embedded runtime. It is an OCI image layout in which
// every layer is unpacked, once, into a directory for overlayfs.
//
//	DIR/oci-layout, index.json     the images by name
//	DIR/blobs/sha256/HEX           manifests and configurations
//	DIR/layers/HEX/fs              an unpacked layer, with overlayfs whiteouts
//	DIR/layers/HEX/layer.json      its digest and size
//	DIR/empty                      the layer of images without layers
//	DIR/uses/CONTAINER             the layers that a container uses
//	DIR/tmp/NAME                   a transaction, locked by its process
//	DIR/lock                       held while one of the above changes
//
// Compressed layers are not kept: containers need only the unpacked ones, and the size of an
// image is what its removal frees. The OCI specification allows a layout without these blobs.
//
// Several processes may use a store concurrently, such as the node agent and `berth image`. A
// process that is killed leaves nothing visible. One rename adds a layer after it is complete and
// its digests match the manifest. One rename of index.json adds an image. Open removes the
// transactions of killed processes.
//
// Images may be malicious. The store limits what they can do:
//
//   - Names with ".." and links out of the layer are rejected. Files are created through os.Root
//     below the layer's directory, so that an error in these checks does not allow an escape.
//   - Device files are not created. They are skipped in /dev and rejected elsewhere.
//   - Of extended attributes only file capabilities and user.* are set.
//   - Bytes, inodes, layers and name lengths are limited (Limits), and part of the disk stays
//     free.
//   - Bits such as setuid are kept for use inside the container, but only root can access DIR.
//
// Like Docker, the store unpacks a layer without its lower layers: a path through a symbolic
// link of a lower layer creates a directory instead.
package store
