package disk

import "time"

// Kinds of consumers.
const (
	Image               = "image"
	WritableLayer       = "container"            // writable layer of a container
	TerminatedContainer = "terminated container" // writable layer of a terminated container
	Log                 = "log"                  // logs of a container
	Volume              = "volume"
	Orphan              = "orphan" // directory of a pod that the agent does not manage
)

// Names of file systems, as in eviction signals.
const (
	NodeFs  = "nodefs"
	ImageFs = "imagefs"
)

// Report lists the consumers of the disks of a node. Sizes are in bytes.
type Report struct {
	Node        string       `json:"node"`
	At          time.Time    `json:"time"`
	FileSystems []FileSystem `json:"fileSystems"`
	// Consumers are sorted by size, largest first.
	Consumers []Consumer `json:"consumers"`
	// Unknown lists the measurements that failed, with their errors.
	Unknown []string `json:"unknown,omitempty"`
}

// FileSystem is a file system of the node.
type FileSystem struct {
	// Names contains NodeFs, ImageFs, or both.
	Names      []string `json:"names"`
	Dir        string   `json:"dir"` // a directory on the file system
	Capacity   int64    `json:"capacity"`
	Used       int64    `json:"used"`
	Available  int64    `json:"available"`
	Inodes     int64    `json:"inodes"`
	InodesUsed int64    `json:"inodesUsed"`
	// Other is the used space that belongs to no Consumer.
	Other int64 `json:"other"`
}

// Consumer is an image, a writable layer, the logs of a container, a volume or an orphaned directory
// that uses disk space.
type Consumer struct {
	Kind       string `json:"kind"`
	FileSystem string `json:"fileSystem"` // the first of the file system's names
	// Pod is NAMESPACE/NAME, NAMESPACE/NAME/UID for orphaned logs, the UID for other orphaned
	// directories, and "" for images.
	Pod string `json:"pod,omitempty"`
	UID string `json:"uid,omitempty"`
	// Name is the name of the image, container or volume. For orphaned directories it is "logs" or
	// "directory".
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Inodes int64  `json:"inodes,omitempty"`
	// Shared is the part of the layers that other images use too; removing the image does not free
	// it.
	Shared int64 `json:"shared,omitempty"`
	// Users is the number of containers that use the image, including terminated ones.
	Users int `json:"users,omitempty"`
	// Pinned reports whether the image is exempt from garbage collection.
	Pinned bool `json:"pinned,omitempty"`
}
