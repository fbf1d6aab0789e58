//go:build linux

package nodeagent

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/staticpod"
)

// readStaticPods passes the static pods of the node to the agent. Without staticPodPath there are none, and the agent
// deletes mirror pods.
func (n *node) readStaticPods(ctx context.Context) {
	k := &n.opts.Kubelet
	if k.StaticPodPath == "" {
		select {
		case n.staticPods <- []*corev1.Pod{}:
			<-ctx.Done()
		case <-ctx.Done():
		}
		return
	}
	source := staticpod.Source{Path: k.StaticPodPath, Node: n.opts.Name, Interval: k.FileCheckFrequency, Log: n.opts.Log}
	source.Run(ctx, n.staticPods)
}
