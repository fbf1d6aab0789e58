package disk

import (
	"time"
)

// Kinds of what holds space.
const (
	Image         = "image"
	WritableLayer = "container" // what a container has written
	DeadContainer = "dead container"
	Log           = "log"
	Volume        = "volume"
	Orphaned      = "leftover" // of a pod that is gone
)

// Names of file systems, as eviction signals call them.
const (
	NodeFs  = "nodefs"
	ImageFs = "imagefs"
)

// Report is what holds the disks of a node. Sizes are bytes.
type Report struct {
	Node        string       `json:"node"`
	At          time.Time    `json:"at"`
	FileSystems []FileSystem `json:"fileSystems"`
	// Consumers are in order of size, the largest first.
	Consumers []Consumer `json:"holders"`
	// Unknown says what could not be measured, and why.
	Unknown []string `json:"unknown,omitempty"`
}

// FileSystem is one that the node watches.
type FileSystem struct {
	// Names are NodeFs and ImageFs; both when it is the same one.
	Names      []string `json:"names"`
	Dir        string   `json:"dir"`
	Capacity   int64    `json:"capacity"`
	Used       int64    `json:"used"`
	Available  int64    `json:"available"`
	Inodes     int64    `json:"inodes"`
	InodesUsed int64    `json:"inodesUsed"`
	// Other is what is used and held by no Holder.
	Other int64 `json:"other"`
}

// Consumer is what holds space.
type Consumer struct {
	Kind       string `json:"kind"`
	FileSystem string `json:"fileSystem"` // the first of its names
	// Pod is NAMESPACE/NAME, or what a directory says of a pod that is gone; "" of images.
	Pod string `json:"pod,omitempty"`
	UID string `json:"uid,omitempty"`
	// Name of the image, container or volume.
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Inodes int64  `json:"inodes,omitempty"`
	// Shared is how much of an image's layers other images have, too; removing it does not free that.
	Shared int64 `json:"shared,omitempty"`
	// Users are how many containers use an image, dead ones too.
	Users int `json:"users,omitempty"`
	// Pinned says that an image is never collected.
	Pinned bool `json:"pinned,omitempty"`
}
