// Package nodelifecycle keeps the taints of nodes in step with their conditions
// and with spec.unschedulable: the NoSchedule half of Kubernetes' node lifecycle
// controller.
//
//	Ready=False                 node.kubernetes.io/not-ready
//	Ready=Unknown or absent     node.kubernetes.io/unreachable; not-ready when absent
//	MemoryPressure=True         node.kubernetes.io/memory-pressure
//	DiskPressure=True           node.kubernetes.io/disk-pressure
//	PIDPressure=True            node.kubernetes.io/pid-pressure
//	NetworkUnavailable=True     node.kubernetes.io/network-unavailable
//	spec.unschedulable          node.kubernetes.io/unschedulable
//
// It takes away the not-ready taint that admission puts on every new node. It
// does not judge heartbeats, and evicts nobody.
package nodelifecycle
