package v1alpha1

// AgentURLAnnotation of a Node is the URL of its agent, for nodes whose address and port do not reach it.
// Simulated nodes have invented addresses, and one process serves many of them. The value is https://HOST:PORT,
// or https://HOST:PORT/nodes/NAME for an agent that runs as system:berth:simulated-nodes.
const AgentURLAnnotation = "berth.dev/agent-url"

// LocalProvisioner is the name of the provisioner of local volumes, in storage classes and in the
// annotation pv.kubernetes.io/provisioned-by.
const LocalProvisioner = "berth.dev/local-directory"

// VolumeImageAnnotation of a PersistentVolume of LocalProvisioner is "true" if the node's agent may
// keep the data in a disk image next to the volume's directory: PATH.img.
const VolumeImageAnnotation = "berth.dev/volume-image"

// Suffixes of the files next to the directory of a volume with VolumeImageAnnotation. The first is that of the disk
// image. A file with the second means that the directory itself contains the data.
const (
	VolumeImageSuffix = ".img"
	VolumePlainSuffix = ".plain"
)
