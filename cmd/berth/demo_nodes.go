package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/virtualnode"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/demo"
	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/localnodes"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/internal/table"
)

// The number of demo nodes and the resources of each.
const (
	demoNodeCount = 3
	demoCPU       = "4" // of a simulated node
	demoMemory    = 1 << 30
	demoDisk      = 1 << 30
	// demoImageBytes is the size of an unused image on a simulated node.
	demoImageBytes = 256 << 20
)

// demoKubelet is the kubelet configuration of the nodes: thresholds that suit their size, and
// a short pressure transition period.
const demoKubelet = `{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
  "evictionHard": {"memory.available": "100Mi", "nodefs.available": "600Mi", "imagefs.available": "600Mi", "nodefs.inodesFree": "5%", "imagefs.inodesFree": "5%"},
  "evictionPressureTransitionPeriod": "4s", "imageMinimumGCAge": "1s"}`

type demoNodeSet struct {
	cluster         *demoCluster
	dir             demoDir
	settings        settings.Settings
	client          kubernetes.Interface
	names           []string
	simulatedReason string            // why the nodes are simulated; empty if they are not
	pool            *virtualnode.Pool // nil if the nodes are simulated
	registry        string            // HOST:PORT on loopback that serves largeImage over plain HTTP
	largeImage      string            // image reference, see demo.Options
	close           func()            // stops the registry
}

// newDemoNodeSet returns a node set. It first removes the nodes of an earlier demo.
func newDemoNodeSet(ctx context.Context, target *demoCluster, dir demoDir, s settings.Settings, simulated bool) (*demoNodeSet, error) {
	c := &demoNodeSet{cluster: target, dir: dir, settings: s, close: func() {}, simulatedReason: "--simulated is set"}
	for i := range demoNodeCount {
		c.names = append(c.names, fmt.Sprintf("berth-demo-%d", i+1))
	}
	var err error
	if c.client, err = kubernetes.NewForConfig(target.config); err != nil {
		return nil, err
	}
	document := config.Document{File: "berth demo", APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: config.KubeletKind, JSON: []byte(demoKubelet)}
	if c.settings.Kubelet, err = config.ReadKubelet(document); err != nil {
		return nil, err
	}
	if !simulated {
		c.simulatedReason = c.findSimulatedReason()
	}
	if c.simulatedReason == "" {
		if err := c.prepareVirtualNodes(ctx); err != nil {
			return nil, err
		}
	}
	return c, c.remove(ctx)
}

// start starts the agents and waits until the nodes are schedulable.
func (c *demoNodeSet) start(ctx context.Context, group *rungroup.Group) error {
	var nodes []*corev1.Node
	var names []string
	var err error
	if c.simulatedReason == "" {
		names, err = c.names, c.startVirtualNodes(group)
	} else {
		nodes, err = c.startSimulatedNodes(group)
	}
	if err != nil {
		return err
	}
	_, err = localnodes.WaitForNodes(ctx, c.cluster.config, nodes, names)
	return err
}

func (c *demoNodeSet) startSimulatedNodes(group *rungroup.Group) ([]*corev1.Node, error) {
	var nodes []*corev1.Node
	for _, name := range c.names {
		n := agent.NewNode(name, resource.MustParse(demoCPU), *resource.NewQuantity(demoMemory, resource.BinarySI))
		n.Labels = map[string]string{demo.Label: "true"}
		n.Spec.Taints = []corev1.Taint{demo.Taint}
		n.Annotations = map[string]string{usage.Annotation: fmt.Sprintf("images=%d", demoImageBytes), usage.CapacityAnnotation: fmt.Sprintf("nodefs=%d", demoDisk)}
		nodes = append(nodes, n)
	}
	restConfig := c.cluster.config
	if c.cluster.credential != nil {
		var err error
		if restConfig, err = c.cluster.credential(pki.SimulatedNodes()); err != nil {
			return nil, err
		}
	}
	options, err := localnodes.CredentialServingOptions(restConfig)
	if err != nil {
		return nil, err
	}
	s, err := localnodes.NewSimulated(restConfig, nodes, c.settings, options, podCIDRTimeout(restConfig, c.settings))
	if err != nil {
		return nil, err
	}
	s.Start(group)
	return nodes, nil
}

func (c *demoNodeSet) printSummary(out io.Writer) {
	if c.simulatedReason == "" {
		c.printVirtualSummary(out)
		return
	}
	fmt.Fprint(out, table.Wrap(fmt.Sprintf("Three simulated nodes (%s): %s, each with %dMi of memory and of disk.\nThey run no processes; resource usage is scripted.\n",
		c.simulatedReason, strings.Join(c.names, ", "), demoMemory>>20)))
}

// options returns the demo options that depend on the nodes.
func (c *demoNodeSet) options() demo.Options {
	return demo.Options{Nodes: c.names, RunsProcesses: c.simulatedReason == "", Image: demoImage, Program: "/workload", LargeImage: c.largeImage}
}

// remove deletes the Nodes and their Leases.
func (c *demoNodeSet) remove(ctx context.Context) error {
	var errs []error
	for _, name := range c.names {
		for _, err := range []error{c.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}),
			c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(ctx, name, metav1.DeleteOptions{})} {
			if err != nil && !apierrors.IsNotFound(err) {
				errs = append(errs, fmt.Errorf("removing node %s: %w", name, err))
			}
		}
	}
	return errors.Join(errs...)
}
