package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/localnodes"
	"github.com/berthproject/berth/internal/settings"
)

// nodeIPAMFlags holds kube-controller-manager's flags for the podCIDRs of nodes.
type nodeIPAMFlags struct {
	config.NodeIPAM
	flags *pflag.FlagSet
}

// addFlags adds the flags. servicesUsage is the usage of --service-cluster-ip-range; empty if the command already has
// that flag.
func (f *nodeIPAMFlags) addFlags(flags *pflag.FlagSet, servicesUsage string) {
	f.flags = flags
	defaults := config.Default().NodeIPAM
	flags.BoolVar(&f.AllocateNodeCIDRs, "allocate-node-cidrs", defaults.AllocateNodeCIDRs, "set spec.podCIDR of nodes that have none; overrides nodeIPAM.allocateNodeCIDRs of --config")
	flags.StringVar(&f.ClusterCIDR, "cluster-cidr", defaults.ClusterCIDR, "IPv4 CIDR from which the podCIDRs of nodes are allocated; overrides nodeIPAM.clusterCIDR of --config")
	flags.IntVar(&f.NodeCIDRMaskSize, "node-cidr-mask-size", defaults.NodeCIDRMaskSize, "prefix length of a node's podCIDR; overrides nodeIPAM.nodeCIDRMaskSize of --config")
	if servicesUsage != "" {
		flags.StringVar(&f.ServiceClusterIPRange, "service-cluster-ip-range", defaults.ServiceClusterIPRange, servicesUsage)
	}
}

// apply overrides the configuration with the given flags and validates the result.
func (f *nodeIPAMFlags) apply(c *config.NodeIPAM) error {
	for name, set := range map[string]func(){
		"allocate-node-cidrs":      func() { c.AllocateNodeCIDRs = f.AllocateNodeCIDRs },
		"cluster-cidr":             func() { c.ClusterCIDR = f.ClusterCIDR },
		"node-cidr-mask-size":      func() { c.NodeCIDRMaskSize = f.NodeCIDRMaskSize },
		"service-cluster-ip-range": func() { c.ServiceClusterIPRange = f.ServiceClusterIPRange },
	} {
		if f.flags.Changed(name) {
			set()
		}
	}
	if err := c.Validate(); err != nil {
		return fmt.Errorf("--cluster-cidr, --node-cidr-mask-size: %w", err)
	}
	return nil
}

// podCIDRTimeout returns how long an agent waits for podCIDRs. It assumes that an API server
// that does not respond yet is Berth's.
func podCIDRTimeout(restConfig *rest.Config, s settings.Settings) time.Duration {
	isBerth, _, err := isBerthServer(restConfig)
	return localnodes.PodCIDRTimeout(&s, isBerth || err != nil)
}
