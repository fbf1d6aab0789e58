package config

import (
	"fmt"
	"net/netip"

	"github.com/berthproject/berth/engine/nodeipam"
)

// DefaultClusterCIDR has a /24 for each of 32768 nodes.
const DefaultClusterCIDR = "10.128.0.0/9"

// NodeIPAM holds the options of the allocation of podCIDRs to nodes. They are flags in kube-controller-manager.
type NodeIPAM struct {
	AllocateNodeCIDRs     bool   `json:"allocateNodeCIDRs" doc:"Whether nodes without spec.podCIDR get one (--allocate-node-cidrs)."`
	ClusterCIDR           string `json:"clusterCIDR" doc:"IPv4 CIDR of the podCIDRs (--cluster-cidr). The first range of the default is chosen by the cluster's identity, so that clusters on one machine rarely use the same ranges; any other CIDR is used from its start."`
	NodeCIDRMaskSize      int    `json:"nodeCIDRMaskSize" doc:"Prefix length of a node's range, at most 30 and at most 16 above that of clusterCIDR (--node-cidr-mask-size)."`
	ServiceClusterIPRange string `json:"serviceClusterIPRange" doc:"CIDR of Service cluster IPs, which podCIDRs must not overlap (--service-cluster-ip-range)."`
}

func defaultNodeIPAM() NodeIPAM {
	return NodeIPAM{AllocateNodeCIDRs: true, ClusterCIDR: DefaultClusterCIDR, NodeCIDRMaskSize: 24, ServiceClusterIPRange: "10.96.0.0/16"}
}

// Options returns the options for engine/nodeipam. start is the index of the first range. It applies to the default
// cluster CIDR only.
func (c *NodeIPAM) Options(start uint32) (nodeipam.Options, error) {
	cluster, err := netip.ParsePrefix(c.ClusterCIDR)
	if err != nil {
		return nodeipam.Options{}, fmt.Errorf("nodeIPAM.clusterCIDR: %q: must be an IPv4 CIDR, such as %s", c.ClusterCIDR, DefaultClusterCIDR)
	}
	o := nodeipam.Options{Cluster: cluster, Bits: c.NodeCIDRMaskSize}
	if c.ClusterCIDR == DefaultClusterCIDR {
		o.Start = start
	}
	if c.ServiceClusterIPRange != "" {
		services, err := netip.ParsePrefix(c.ServiceClusterIPRange)
		if err != nil {
			return o, fmt.Errorf("nodeIPAM.serviceClusterIPRange: %q: must be a CIDR, such as 10.96.0.0/16, or empty", c.ServiceClusterIPRange)
		}
		o.Reserved = append(o.Reserved, services.Masked())
	}
	if err := o.Validate(); err != nil {
		return o, fmt.Errorf("nodeIPAM.clusterCIDR %s, nodeIPAM.nodeCIDRMaskSize %d: %w", c.ClusterCIDR, c.NodeCIDRMaskSize, err)
	}
	return o, nil
}

// Validate returns an error if the options are invalid.
func (c *NodeIPAM) Validate() error {
	_, err := c.Options(0)
	return err
}
