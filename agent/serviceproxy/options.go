package serviceproxy

import (
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// Options configures a proxy.
type Options struct {
	Client kubernetes.Interface
	// Nodes are the names of the nodes on this machine.
	Nodes []string
	// KeepRules leaves the tables in place when Run ends, for pods that keep running.
	KeepRules bool
	// Yield removes the tables while another service proxy has rules on this machine.
	Yield bool
	// MinSync is the minimum time between two transactions. Zero means no minimum.
	MinSync time.Duration
	Log     klog.Logger
}
