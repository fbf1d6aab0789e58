package containerinit

import "github.com/berthproject/berth/agent/runtime/embedded/shim"

// Names under which the program is started as one of the three.
const (
	Init    = shim.InitName
	Exec    = "berth-exec"
	Sandbox = "berth-sandbox"
)

// File descriptors that it is started with, after the three usual ones.
const (
	SpecFD    = 3 // a Spec as JSON
	ReportFD  = 4 // what went wrong is written here: an exit code for it and a message, with a blank between
	ProcessFD = 5 // a pidfd: of the sandbox for Init, of the container's first process for Exec; of Sandbox the program to become
)

// Spec is what to do.
type Spec struct {
	// Joins are the cgroup.procs files of the cgroups to join.
	Joins []string
	Root  *Root `json:",omitempty"` // of a new container
	// Mounts go into the root, in this order.
	Mounts []Mount `json:",omitempty"`
	// Masked paths are hidden, Readonly ones not writable.
	Masked, Readonly []string `json:",omitempty"`
	Hostname         string   `json:",omitempty"`
	// Sysctls are set in the namespaces that the process begins in: names with dots.
	Sysctls map[string]string `json:",omitempty"`

	Args []string
	Env  []string
	Cwd  string
	// Terminal makes the standard input the controlling terminal.
	Terminal bool `json:",omitempty"`

	User User
	// Capabilities are bits of those that are left.
	Capabilities uint64
	// Filter is a seccomp program: struct sock_filter in the machine's byte order, in sequence.
	Filter      []byte  `json:",omitempty"`
	OOMScoreAdj *int64  `json:",omitempty"`
	Limits      []Limit `json:",omitempty"`
}

// Root is a container's root file system.
type Root struct {
	At          string   // a directory to mount it at
	Lower       []string // topmost first
	Upper, Work string
	Readonly    bool
}

// Mount is a file system or a directory or file of the host to see in the container.
type Mount struct {
	// Type is "bind", or a file system's: tmpfs, proc, sysfs, devpts, mqueue.
	Type   string
	Source string `json:",omitempty"`
	// Make makes Source a directory if it is not there: a hostPath without a type need not be, as containerd has it.
	Make   bool `json:",omitempty"`
	Target string
	// Flags are MOUNT_ATTR_...
	Flags uint64 `json:",omitempty"`
	// Deep makes Flags count for what is mounted below, too.
	Deep bool `json:",omitempty"`
	// Slave lets what the host mounts below later appear.
	Slave bool `json:",omitempty"`
	// Options of a file system, "name=value".
	Options []string `json:",omitempty"`
	// Optional ones are left out where the kernel does not have them.
	Optional bool `json:",omitempty"`
}

// Attributes of mounts, as the kernel numbers them.
const (
	ReadOnly   = 0x1
	NoSetuid   = 0x2
	NoDevices  = 0x4
	NoPrograms = 0x8
)

// User is who the program runs as.
type User struct {
	// Name is NAME, UID, NAME:GROUP and so on, as images have it; "" is root. UID and GID overrule it.
	Name     string  `json:",omitempty"`
	UID, GID *uint32 `json:",omitempty"`
	Groups   []uint32
	// Merge adds the groups that the image's /etc/group has for the user.
	Merge bool
}

// Limit is a resource limit by its number (RLIMIT_...).
type Limit struct {
	Resource   int
	Soft, Hard uint64
}
