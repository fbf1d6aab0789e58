package containerinit

import "github.com/berthproject/berth/agent/runtime/embedded/shim"

// Process names that select the function to run.
const (
	Init    = shim.InitName
	Exec    = "berth-exec"
	Sandbox = "berth-sandbox"
)

// File descriptors of the process, after the standard streams.
const (
	SpecFD    = 3 // a Spec as JSON
	ReportFD  = 4 // for an error: an exit code, a space and a message; for Exec a SOCK_SEQPACKET socket
	ProcessFD = 5 // a pidfd of the sandbox (Init) or the container's init process (Exec), or the program to execute (Sandbox)
)

// Spec describes the process to run. Running containers keep it as init.json, which a newer agent
// reads, so the JSON names must not change.
type Spec struct {
	// CgroupProcs are the cgroup.procs files of the cgroups to join.
	CgroupProcs []string `json:"Joins"`
	Root        *Root    `json:",omitempty"` // only for a new container
	// Mounts are mounted in this order.
	Mounts []Mount `json:",omitempty"`
	// MaskedPaths are hidden from the container. ReadonlyPaths are read-only.
	MaskedPaths   []string `json:"Masked,omitempty"`
	ReadonlyPaths []string `json:"Readonly,omitempty"`
	Hostname      string   `json:",omitempty"`
	// Sysctls are set in the namespaces of the process. The keys contain dots, for example net.core.somaxconn.
	Sysctls map[string]string `json:",omitempty"`

	Args []string
	Env  []string
	Cwd  string
	// Terminal makes the standard input the controlling terminal.
	Terminal bool `json:",omitempty"`

	User User
	// Capabilities are the bits of the capabilities to keep.
	Capabilities uint64
	// Filter is a seccomp program: an array of struct sock_filter in native byte order.
	Filter      []byte  `json:",omitempty"`
	OOMScoreAdj *int64  `json:",omitempty"`
	Limits      []Limit `json:",omitempty"`
}

// Root describes a container's root file system.
type Root struct {
	MountPoint  string   `json:"At"`
	Lower       []string // read-only layers, topmost first
	Upper, Work string   // the writable layer and overlayfs's work directory; empty: no writable layer
	Readonly    bool
}

// Mount is a mount of a file system, a host path or an image.
type Mount struct {
	// Type is "bind", "image" or a file system type: tmpfs, proc, sysfs, devpts, mqueue.
	Type string
	// Source is the host path to bind, or an empty directory for an image.
	Source string `json:",omitempty"`
	// Lower are the layers of an image, topmost first. SubPath is the path in the image to mount.
	Lower   []string `json:",omitempty"`
	SubPath string   `json:",omitempty"`
	// CreateSource creates Source as a directory if it does not exist, for hostPath volumes without a type.
	CreateSource bool   `json:"Make,omitempty"`
	Target       string // path of the mount point in the container
	// Flags are mount attributes: ReadOnly, NoSUID, NoDev, NoExec.
	Flags uint64 `json:",omitempty"`
	// Recursive applies Flags to all mounts of the tree at Source (AT_RECURSIVE).
	Recursive bool `json:"Deep,omitempty"`
	// Slave sets slave propagation: later mounts of the host below Source appear in the container. Otherwise the mount
	// is private.
	Slave bool `json:",omitempty"`
	// Options are file system options, "name=value".
	Options []string `json:",omitempty"`
	// Optional mounts are skipped if the kernel does not support them.
	Optional bool `json:",omitempty"`
}

// Mount attributes of mount_setattr(2).
const (
	ReadOnly = 0x1 // MOUNT_ATTR_RDONLY
	NoSUID   = 0x2 // MOUNT_ATTR_NOSUID
	NoDev    = 0x4 // MOUNT_ATTR_NODEV
	NoExec   = 0x8 // MOUNT_ATTR_NOEXEC
)

// User is the user of the program.
type User struct {
	// Name is a user and optional group by name or ID, as in image configurations: NAME, UID,
	// NAME:GROUP. "" is root. UID and GID take precedence.
	Name     string  `json:",omitempty"`
	UID, GID *uint32 `json:",omitempty"`
	Groups   []uint32
	// Merge adds the groups that the image's /etc/group gives the user: the supplementalGroupsPolicy Merge.
	Merge bool
}

// Limit is a resource limit (RLIMIT_...).
type Limit struct {
	Resource   int
	Soft, Hard uint64
}
