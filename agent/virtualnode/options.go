package virtualnode

// Options configures a node.
type Options struct {
	Name   string
	Index  int   // unique per pool; selects bridge and subnet
	Memory int64 // bytes, at least MinMemory
	Disk   int64 // bytes, at least MinDisk; the file is sparse
	Inodes int64 // of the disk; 0: default of mkfs.ext4
	Pids   int64 // processes and threads; 0: no limit
}

// Minimum sizes. With less, the kubelet's default thresholds (memory.available<100Mi,
// nodefs.available<10%) leave nothing for pods.
const (
	MinMemory = 256 << 20
	MinDisk   = 64 << 20
)
