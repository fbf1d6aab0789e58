// Package store keeps the images of the embedded runtime: an OCI image layout whose
// layers are unpacked, each once, into directories that overlay stacks.
//
//	DIR/oci-layout, index.json     which images there are, by name
//	DIR/blobs/sha256/HEX           manifests and configurations
//	DIR/layers/HEX/fs              an unpacked layer, whiteouts as overlay wants them
//	DIR/layers/HEX/layer.json      what it is and how large
//	DIR/uses/USER                  a container that needs an image's layers
//	DIR/tmp/NAME                   work under way, locked by who does it
//	DIR/lock                       held for moments, while one of these changes
//
// Packed layers are not kept: the unpacked ones are all that a container needs, and
// what an image is said to hold is then what its removal frees. (A layout may lack blobs, says
// its specification.)
//
// Several processes may use one store at the same time: the agent of a node and
// `berth image`. Whoever is killed leaves nothing that counts: a layer appears by one rename
// when it is complete and its digests are those of the manifest, an image by one rename
// of index.json; Open removes the rest.
//
// An image may be hostile. What it may do is bounded:
//
//   - names with .. and links that lead out of the layer are refused; all is made through os.Root,
//     below the layer's own directory, so that a mistake of ours would not be an escape either;
//   - device files are not made: those in /dev are left out, others refuse the image;
//   - of extended attributes only file capabilities and the user's own are set;
//   - bytes, inodes, layers and the length of names are bounded (Limits), and space of the
//     disk is left;
//   - bits such as setuid stay, as the image wants them inside, but DIR is root's alone: nobody
//     else on the machine gets at them.
//
// A layer is unpacked without sight of the layers below it, as Docker does: a path that
// goes through a link of a lower layer makes a directory instead.
package store
